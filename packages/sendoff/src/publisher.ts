import type { EventEnvelope } from './event/event-envelope.ts'

/**
 * A batch listener that hands events on to a broker: register it like any other listener.
 *
 * An event is answered as done only when the broker has said that it keeps the message. A broker
 * that cannot be reached is no failure of the events: they are deferred, and no attempt is counted.
 * Where one message fails, the later ones of the same ordering key are not answered as done.
 */
export interface Publisher {
  onEvents(events: readonly EventEnvelope[], context: PublishContext): Promise<readonly PublishAnswer[]>
}

/** What a publisher uses of a batch listener's context. */
export interface PublishContext {
  readonly signal: AbortSignal
}

/** What became of one event; an error is a failed attempt, an `UnrecoverableError` the last one. */
export type PublishAnswer =
  | { readonly kind: 'done' }
  | { readonly kind: 'retryAfter'; readonly delayMs: number; readonly reason: string }
  | Error

/** A value for all events, or a function that answers it for each. */
export type Routed<Value> = Value | ((event: EventEnvelope) => Value)

/** The value of a route for one event. */
export function routed<Value>(route: Routed<Value>, event: EventEnvelope): Value {
  return typeof route === 'function' ? (route as (event: EventEnvelope) => Value)(event) : route
}
