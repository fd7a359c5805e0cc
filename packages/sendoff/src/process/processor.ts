import type { EventEnvelope } from '../event/event-envelope.ts'
import type { DispatchContext, ListenerAnswer } from '../route/event-listener.ts'
import type { Route } from '../route/listener-registry.ts'
import type { Outcome } from '../store/index.ts'

/** The first stage of the chain: has an event handled. */
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
  /** Failures that count, this one included if it does. */
  readonly attempts: number
  readonly counted: boolean
  /** Why no further attempt is made; known behind the retry stage. */
  readonly reason?: 'exhausted' | 'notRetryable'
}

/** A further stage: decides what becomes of a failed delivery, or answers what the next stage gets. */
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

export function isFailed(result: Outcome | FailedDelivery): result is FailedDelivery {
  return 'route' in result
}
