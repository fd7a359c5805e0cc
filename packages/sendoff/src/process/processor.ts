import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DispatchContext, ListenerAnswer } from '../route/event-listener.ts'
import type { Route } from '../route/listener-registry.ts'
import type { Outcome } from '../store/index.ts'

/** The first stage of the chain: calls a listener. */
export interface PrimaryProcessor {
  process(
    event: EventEnvelope,
    route: Route,
    context: DispatchContext,
  ): ListenerAnswer | Promise<ListenerAnswer>
}

/** A delivery whose listener failed, on its way through the rest of the chain. */
export interface FailedDelivery {
  readonly event: EventEnvelope
  readonly route: Route
  readonly error: unknown
  /** The failures that count, including this one if it does. */
  readonly attempts: number
  readonly counted: boolean
  /** Why no further attempt is made. The retry stage sets it. */
  readonly reason?: 'exhausted' | 'notRetryable'
}

/**
 * A further stage. It returns the outcome of a failed delivery, or the failed delivery for the next stage.
 */
export interface Processor {
  process(failed: FailedDelivery): Outcome | FailedDelivery | Promise<Outcome | FailedDelivery>
}

/** The four stages, in their order. */
export interface Processors {
  readonly primary: PrimaryProcessor
  readonly retry: Processor
  readonly fallback: Processor
  readonly permanentFailure: Processor
}

/** Whether a stage has passed the failed delivery on. */
export function isFailed(result: Outcome | FailedDelivery): result is FailedDelivery {
  return 'route' in result
}
