import { OutboxError, UnroutableEventError } from '../errors.ts'
import {
  AggregateType,
  type DefinedEvent,
  type EventType,
  isDefinedEvent,
  nameOf,
} from '../event/event-type.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import { callable, checkOptions, duration, having } from '../options.ts'
import type { RetryPolicy } from '../process/retry-policy.ts'
import { BoundEventListener, type EventListener, type ListenerFunction } from './event-listener.ts'

export interface ListenerOptions {
  /** Used instead of the outbox's retry policy. */
  readonly retry?: RetryPolicy
  /** How long one call may take before its signal aborts; the outbox's limit where left out. */
  readonly timeoutMs?: number
}

/** Where an event goes, and by which rules. */
export interface Route {
  readonly listener: EventListener
  readonly schema: StandardSchema | undefined
  readonly options: ListenerOptions
}

type AnyListener<Payload> = ListenerFunction<Payload> | EventListener<Payload>

/** Maps each pair of aggregate type and event type to exactly one listener. */
export class ListenerRegistry {
  readonly #routes = new Map<string, Route>()

  /** Registers a listener that is bound to its event. */
  register(listener: BoundEventListener<never>, options?: ListenerOptions): this
  /** Registers a listener for one aggregate type's event. */
  register(
    aggregateType: string | AggregateType,
    eventType: string | EventType,
    listener: AnyListener<unknown>,
    options?: ListenerOptions,
  ): this
  /** Registers a listener for an event without an aggregate type. */
  register(eventType: string, listener: AnyListener<unknown>, options?: ListenerOptions): this
  /** Registers a listener for a defined event; it gets the payload typed and checked. */
  register<Input, Output>(
    event: DefinedEvent<Input, Output>,
    listener: AnyListener<Output>,
    options?: ListenerOptions,
  ): this
  register(...args: readonly unknown[]): this {
    const { aggregateType, eventType, schema, listener, options = {} } = readArguments(args)
    checkOptions(`the listener for "${eventType}"`, options, {
      retry: having('computeDelayMs'),
      timeoutMs: duration,
    })

    const key = keyOf(aggregateType, eventType)
    if (this.#routes.has(key)) {
      throw new OutboxError(
        'OUTBOX_DUPLICATE_LISTENER',
        `A listener for event type "${eventType}" of aggregate type "${aggregateType}" is registered already. ` +
          'There is one listener per event: call both from one, or use an interceptor for what concerns all events.',
      )
    }
    this.#routes.set(key, { listener: listenerOf(eventType, listener), schema, options })
    return this
  }

  listenerFor(aggregateType: string, eventType: string): EventListener | undefined {
    return this.routeFor(aggregateType, eventType)?.listener
  }

  routeFor(aggregateType: string, eventType: string): Route | undefined {
    return this.#routes.get(keyOf(aggregateType, eventType))
  }

  /** The error for an event that nobody listens for. */
  unroutable(eventId: string, aggregateType: string, eventType: string): UnroutableEventError {
    const known = [...this.#routes.keys()].join(', ') || 'none'
    return new UnroutableEventError(
      `No listener is registered for event type "${eventType}" of aggregate type "${aggregateType}" (event ${eventId}). ` +
        `Registered: ${known}. Register one, or deploy the version that does before writing such events, and replay.`,
    )
  }
}

interface Registration {
  readonly aggregateType: string
  readonly eventType: string
  readonly schema?: StandardSchema | undefined
  readonly listener: unknown
  readonly options?: ListenerOptions | undefined
}

function readArguments(args: readonly unknown[]): Registration {
  const [first, second, third, fourth] = args
  if (first instanceof BoundEventListener) {
    const { aggregateType, eventType } = first
    return { aggregateType, eventType, listener: first, options: second as ListenerOptions }
  }
  if (isDefinedEvent(first)) {
    const { aggregateType, name, schema } = first
    return { aggregateType, eventType: name, schema, listener: second, options: third as ListenerOptions }
  }
  if (isListener(second)) {
    const eventType = typeNameOf(first)
    return {
      aggregateType: AggregateType.GLOBAL.name,
      eventType,
      listener: second,
      options: third as ListenerOptions,
    }
  }
  return {
    aggregateType: typeNameOf(first),
    eventType: typeNameOf(second),
    listener: third,
    options: fourth as ListenerOptions,
  }
}

function typeNameOf(value: unknown): string {
  const name = typeof value === 'object' && value !== null ? nameOf(value as EventType) : value
  if (typeof name === 'string' && name !== '') return name
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'register takes an event type (a defined event, a name, or an object with a name), a listener, and options.',
  )
}

function isListener(value: unknown): value is AnyListener<unknown> {
  return typeof value === 'function' || having('onEvent')(value) === undefined
}

function listenerOf(eventType: string, listener: unknown): EventListener {
  if (callable(listener) === undefined) return { onEvent: listener as ListenerFunction }
  if (isListener(listener)) return listener as EventListener
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The listener for event type "${eventType}" must be a function or an object with onEvent().`,
  )
}

function keyOf(aggregateType: string, eventType: string): string {
  return `${aggregateType}:${eventType}`
}
