import type { EventEnvelope } from '../event/event-envelope.ts'

/** Called when no further attempt will be made. If it returns normally, the event is DONE. */
export type Fallback<Payload = unknown> = (event: EventEnvelope<Payload>, failure: FinalFailure) => unknown

/** Why an event reached its fallback. */
export interface FinalFailure {
  /** How many failures counted. */
  readonly attempts: number
  readonly lastError: unknown
  /** `exhausted`: all attempts are used up. `notRetryable`: the error allows no further attempt. */
  readonly reason: 'exhausted' | 'notRetryable'
}
