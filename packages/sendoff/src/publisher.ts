import type { EventEnvelope } from './event/event-envelope.ts'

/**
 * A batch listener that sends events to a broker. Register it like any other listener.
 *
 * It returns `done` for an event only after the broker has confirmed that it keeps the message. If the broker
 * cannot be reached, the events have not failed: they are deferred, and no attempt is counted.
 * If one message fails, later messages of the same ordering key are not returned as done.
 */
export interface Publisher {
  onEvents(events: readonly EventEnvelope[], context: PublishContext): Promise<readonly PublishAnswer[]>
}

/** The part of a batch listener's context that a publisher uses. */
export interface PublishContext {
  readonly signal: AbortSignal
}

/** The result for one event. An error is a failed attempt; an `UnrecoverableError` is the last one. */
export type PublishAnswer =
  | { readonly kind: 'done' }
  | { readonly kind: 'retryAfter'; readonly delayMs: number; readonly reason: string }
  | Error

/** A value for all events, or a function that returns it for each event. */
export type Routed<Value> = Value | ((event: EventEnvelope) => Value)

/** The value of a route for one event. */
export function routed<Value>(route: Routed<Value>, event: EventEnvelope): Value {
  return typeof route === 'function' ? (route as (event: EventEnvelope) => Value)(event) : route
}
