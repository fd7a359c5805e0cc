import type { EventEnvelope } from '../event/event-envelope.ts'

/** Called around every delivery of every event type, for audits, traces and checks. */
export interface EventInterceptor {
  /** Called before the listener, in order of registration. An error counts as the listener's. */
  beforeDispatch?(event: EventEnvelope): unknown
  /** Called in reverse order, with the error of the delivery or null. Its own errors are only logged. */
  afterDispatch?(event: EventEnvelope, error: unknown): unknown
}

export const EventInterceptor = {
  before: (hook: (event: EventEnvelope) => unknown): EventInterceptor => ({ beforeDispatch: hook }),
  after: (hook: (event: EventEnvelope, error: unknown) => unknown): EventInterceptor => ({
    afterDispatch: hook,
  }),
}
