import type { EventEnvelope } from '../event/event-envelope.ts'
import { type AggregateType, type EventType, nameOf } from '../event/event-type.ts'
import type { DispatchResult } from './dispatch-result.ts'

/** Reacts to one event. Returning normally is success; throwing is a failed attempt. */
export type ListenerFunction<Payload = unknown> = (
  event: EventEnvelope<Payload>,
  context: DispatchContext,
) => ListenerAnswer | Promise<ListenerAnswer>

// `void` lets a listener simply end; whatever else it returns counts as success.
export type ListenerAnswer = DispatchResult | void

export interface EventListener<Payload = unknown> {
  onEvent(event: EventEnvelope<Payload>, context: DispatchContext): ListenerAnswer | Promise<ListenerAnswer>
}

/** Reacts to several events at once, such as a relay to a broker. */
export interface BatchEventListener {
  /**
   * Gets events as they are stored: their payloads are not checked against a schema. Answers for
   * each in turn, an error meaning that this one failed; answering nothing is success for all,
   * throwing is failure for all. What is no answer counts as a failed attempt.
   */
  onEvents(
    events: readonly EventEnvelope[],
    context: BatchContext,
  ): readonly BatchAnswer[] | void | Promise<readonly BatchAnswer[] | void>
}

/** An answer for one event of a batch: a listener's, an error, or what `Promise.allSettled` makes of it. */
export type BatchAnswer = ListenerAnswer | Error | PromiseSettledResult<unknown>

/** What a listener can know about the delivery it is part of. */
export interface DispatchContext {
  /** 1 for the first attempt. Deferrals do not count. */
  readonly attempt: number
  /** Aborts when the listener's time is up, when the lease is lost, and when a shutdown cannot wait. */
  readonly signal: AbortSignal
  /** A number that rises with every delivery: a later delivery of the same event has a higher one. */
  readonly fencingToken: number
  /**
   * In `Outbox.partitioned`, a number that rises whenever another process takes over the event's ordering key: whatever
   * comes with a lower one than was seen for the key is from a process that has lost it. Undefined elsewhere.
   */
  readonly epoch: number | undefined
}

export interface BatchContext {
  /** Aborts as soon as it would for any event of the batch. */
  readonly signal: AbortSignal
  /** The contexts of the events, in their order. */
  readonly deliveries: readonly DispatchContext[]
}

/** A listener that knows which events it is for: `registry.register(listener)`. */
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
