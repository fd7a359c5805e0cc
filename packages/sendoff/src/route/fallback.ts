import type { EventEnvelope } from '../event/event-envelope.ts'

/** Is called when no further attempt will be made. If it returns normally, the event is DONE. */
export type Fallback<Payload = unknown> = (event: EventEnvelope<Payload>, failure: FinalFailure) => unknown

/** Why an event reached its fallback. */
export interface FinalFailure {
  /** The failures that counted. */
  readonly attempts: number
  readonly lastError: unknown
  /** `exhausted`: all attempts are used up. `notRetryable`: the error allows no other attempt. */
  readonly reason: 'exhausted' | 'notRetryable'
}
