/**
 * The databases that a subject warms up on before it is measured. Two: V8 compiles for the one outbox or worker that it
 * has seen, and gives that up as soon as there is another.
 */
export const warmUps = ['warm-up', 'warm-up-again'] as const
