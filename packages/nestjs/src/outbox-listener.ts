import type {
  AggregateType,
  BatchEventListener,
  DefinedEvent,
  EventListener,
  EventType,
  ListenerFunction,
  ListenerOptions,
} from 'sendoff'
import { addListener, eventsOf, type ListenerMetadata, nameOf } from './listener-metadata.ts'
import { AggregateType as aggregateTypes, OutboxError } from 'sendoff'

/** Options of `@OutboxListener`. A method with `@OutboxFallback` is the fallback. */
export interface OutboxListenerOptions extends Omit<ListenerOptions, 'fallback'> {
  /** The name of the outbox. Default: the one without a name. */
  readonly outbox?: string
}

/** An event by the names of its types, with the options of its listener. */
export interface OutboxListenerAddress extends OutboxListenerOptions {
  readonly eventType: string | EventType
  /** Default: the type of events without an aggregate. */
  readonly aggregateType?: string | AggregateType
}

/** Decorates a method that gets events, or a class with `onEvent` or `onEvents`. */
export interface OutboxListenerDecorator<Payload> {
  (listener: ListenerClass<EventListener<Payload> | BatchEventListener>): void
  <Method extends ListenerFunction<Payload>>(
    target: object,
    method: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void
}

/** A class of listeners. */
export type ListenerClass<Listener> = abstract new (...args: never[]) => Listener

// The compiler explains a mistake by the first and the last of these: a defined event, and an address.
/** Listens for a defined event, and gets its payload typed and checked. */
export function OutboxListener<Input, Output>(
  event: DefinedEvent<Input, Output>,
  options?: OutboxListenerOptions,
): OutboxListenerDecorator<Output>
/** Listens for an event by its name, for several events, or with `'*'` for all without a listener. */
export function OutboxListener(
  events: string | readonly (string | EventType | DefinedEvent<never, unknown>)[],
  options?: OutboxListenerOptions,
): OutboxListenerDecorator<unknown>
/** Options for a class that extends `BoundEventListener`, which names its event itself. */
export function OutboxListener(
  options: OutboxListenerOptions & { readonly eventType?: never },
): (listener: ListenerClass<EventListener<never>>) => void
/** Listens for an event by the names of its types. */
export function OutboxListener(address: OutboxListenerAddress): OutboxListenerDecorator<unknown>
export function OutboxListener(
  first: unknown,
  options: OutboxListenerOptions = {},
): OutboxListenerDecorator<never> {
  const metadata = metadataOf(first, options)
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const listener: unknown = method === undefined ? target : descriptor?.value
    if (typeof listener !== 'function') {
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `@OutboxListener() is for classes and methods, and "${String(method)}" is neither. Move it to a method.`,
      )
    }
    addListener(listener, metadata)
  }
}

function metadataOf(first: unknown, options: OutboxListenerOptions): ListenerMetadata {
  if (typeof first === 'object' && first !== null && !Array.isArray(first) && !('of' in first)) {
    const {
      outbox,
      eventType,
      aggregateType = aggregateTypes.GLOBAL,
      ...rest
    } = first as Partial<OutboxListenerAddress>
    const events =
      eventType === undefined
        ? undefined
        : [{ aggregateType: nameOf(aggregateType), eventType: nameOf(eventType) }]
    return { outbox, events, options: rest }
  }
  const { outbox, ...rest } = options
  return { outbox, events: first === '*' ? '*' : eventsOf(first), options: rest }
}
