import type { EventEnvelope } from '../event/event-envelope.ts'

/** Sees every delivery, whatever its type: for auditing, tracing, checks that concern all. */
export interface EventInterceptor {
  /** Called in the order of registration, before the listener. An error counts as the listener's. */
  beforeDispatch?(event: EventEnvelope): unknown
  /** Called in the reverse order, with what the delivery failed with, or null. Errors are logged and go no further. */
  afterDispatch?(event: EventEnvelope, error: unknown): unknown
}

export const EventInterceptor = {
  before: (hook: (event: EventEnvelope) => unknown): EventInterceptor => ({ beforeDispatch: hook }),
  after: (hook: (event: EventEnvelope, error: unknown) => unknown): EventInterceptor => ({
    afterDispatch: hook,
  }),
}
