/**
 * The databases that a subject warms up on before it is measured. There are two, because V8 compiles for the
 * first outbox or worker that it sees, and discards that code when there is another.
 */
export const warmUps = ['warm-up', 'warm-up-again'] as const
