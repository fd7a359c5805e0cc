import type { EventEnvelope } from '../event/event-envelope.ts'
import { type AggregateType, type EventType, nameOf } from '../event/event-type.ts'
import type { DispatchResult } from './dispatch-result.ts'

/** Handles one event. Returning normally is success; throwing is a failed attempt. */
export type ListenerFunction<Payload = unknown> = (
  event: EventEnvelope<Payload>,
  context: DispatchContext,
) => ListenerAnswer | Promise<ListenerAnswer>

/** The return value of a listener. `void` lets it simply end; any other value counts as success. */
export type ListenerAnswer = DispatchResult | void

/** An object that handles one event at a time. */
export interface EventListener<Payload = unknown> {
  onEvent(event: EventEnvelope<Payload>, context: DispatchContext): ListenerAnswer | Promise<ListenerAnswer>
}

/** An object that handles several events in one call, such as a relay to a broker. */
export interface BatchEventListener {
  /**
   * Gets events as they are stored, but in the newest version of their definition. Their payloads are not
   * checked against a schema. Returns one answer for each event, in their order; an error means that this
   * event failed. Returning nothing is success for all, and throwing is failure for all. A value that is not
   * an answer counts as a failed attempt.
   */
  onEvents(
    events: readonly EventEnvelope[],
    context: BatchContext,
  ): readonly BatchAnswer[] | void | Promise<readonly BatchAnswer[] | void>
}

/**
 * The answer of a batch listener for one event: a listener's answer, an error, or a result of
 * `Promise.allSettled`.
 */
export type BatchAnswer = ListenerAnswer | Error | PromiseSettledResult<unknown>

/** Facts about a delivery, for its listener. */
export interface DispatchContext {
  /** 1 for the first attempt. Deferrals do not count. */
  readonly attempt: number
  /** Aborts when the listener's time is up, when the lease is lost, and when a shutdown stops waiting. */
  readonly signal: AbortSignal
  /** A number that rises with every delivery: a later delivery of the same event has a higher one. */
  readonly fencingToken: number
  /**
   * In `Outbox.partitioned`, a number that rises when another process takes over the event's ordering key. A
   * number lower than one seen before for the key comes from a process that has lost the key. Undefined in
   * other modes.
   */
  readonly epoch: number | undefined
  /** The destination of the delivery; empty without routing. */
  readonly destination: string
  /**
   * Runs code in the context that the event was written in. A listener for one event runs in it anyway. In a
   * batch, each event may have another.
   */
  run<Result>(work: () => Result): Result
}

/** Facts about the deliveries of a batch, for its listener. */
export interface BatchContext {
  /** Aborts as soon as the signal of any event in the batch aborts. */
  readonly signal: AbortSignal
  /** The contexts of the events, in the order of the events. */
  readonly deliveries: readonly DispatchContext[]
}

/** A listener that names its events itself: `registry.register(listener)`. */
export abstract class BoundEventListener<Payload = unknown> implements EventListener<Payload> {
  readonly aggregateType: string
  readonly eventType: string

  constructor(aggregateType: string | AggregateType, eventType: string | EventType) {
    this.aggregateType = nameOf(aggregateType)
    this.eventType = nameOf(eventType)
  }

  abstract onEvent(
    event: EventEnvelope<Payload>,
    context: DispatchContext,
  ): ListenerAnswer | Promise<ListenerAnswer>
}
