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

/** What a listener can know about the delivery it is part of. */
export interface DispatchContext {
  /** 1 for the first attempt. Deferrals do not count. */
  readonly attempt: number
  /** Aborts when the listener's time is up, when the lease is lost, and when a shutdown cannot wait. */
  readonly signal: AbortSignal
  /** A number that rises with every delivery: a later delivery of the same event has a higher one. */
  readonly fencingToken: number
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
