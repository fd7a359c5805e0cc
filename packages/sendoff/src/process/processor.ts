import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Route } from '../route/listener-registry.ts'
import type { Outcome } from '../store.ts'

/** A delivery whose listener failed, on its way through the rest of the chain. */
export interface FailedDelivery {
  readonly event: EventEnvelope
  readonly route: Route
  readonly error: unknown
  /** Failures that count, this one included if it does. */
  readonly attempts: number
  readonly counted: boolean
}

/** One stage of the chain: decides what becomes of a failed delivery, or passes it on. */
export interface Processor {
  process(failed: FailedDelivery): Outcome | undefined | Promise<Outcome | undefined>
}
