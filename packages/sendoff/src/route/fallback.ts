import type { EventEnvelope } from '../event/event-envelope.ts'

/** What is left to do when no further attempt will be made. Returning normally makes the event DONE. */
export type Fallback<Payload = unknown> = (event: EventEnvelope<Payload>, failure: FinalFailure) => unknown

/** Why an event came to its fallback. */
export interface FinalFailure {
  /** Failures that counted. */
  readonly attempts: number
  readonly lastError: unknown
  /** All attempts were used up, or the error was not worth another one. */
  readonly reason: 'exhausted' | 'notRetryable'
}
