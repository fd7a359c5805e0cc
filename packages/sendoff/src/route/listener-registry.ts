import { didYouMean } from '../closest-name.ts'
import { OutboxError, UnroutableEventError } from '../errors.ts'
import {
  AggregateType,
  type DefinedEvent,
  type EventType,
  isDefinedEvent,
  nameOf,
} from '../event/event-type.ts'
import type { StandardSchema } from '../event/standard-schema.ts'
import { callable, checkOptions, count, duration, having } from '../options.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import type { TypeName } from '../store/index.ts'
import {
  type BatchEventListener,
  BoundEventListener,
  type EventListener,
  type ListenerFunction,
} from './event-listener.ts'
import type { Fallback } from './fallback.ts'

/** How many events one call of a batch listener gets by default. */
export const defaultMaxBatchSize = 100

/** Options of a listener. */
export interface ListenerOptions<Payload = never> {
  /** The retry policy of these events. Default: that of the outbox. */
  readonly retry?: RetryPolicy
  /** Called when no further attempt will be made. */
  readonly fallback?: Fallback<Payload>
  /** How many milliseconds one call may take before its signal aborts. Default: the outbox's limit. */
  readonly timeoutMs?: number
  /** The largest number of events in one call of a batch listener. Default: 100. */
  readonly maxBatchSize?: number
}

/** The listener of an event, with its schema and options. */
export interface Route {
  readonly listener: EventListener | BatchEventListener
  readonly schema: StandardSchema | undefined
  readonly options: ListenerOptions
}

/** Any form in which an event type can be given. */
export type EventTypeLike = string | EventType | DefinedEvent<never, unknown>

/** Anything that can be registered as a listener. */
export type AnyListener<Payload> = ListenerFunction<Payload> | EventListener<Payload> | BatchEventListener

/** Maps each pair of aggregate type and event type to exactly one listener. */
export class ListenerRegistry {
  // By aggregate type, then by event type. Every event is looked up here, so the lookup builds no string.
  readonly #routes = new Map<string, Map<string, Route>>()
  #defaultRoute: Route | undefined
  #types: readonly TypeName[] | undefined

  /** Registers a listener that is bound to its event. */
  register(listener: BoundEventListener<never>, options?: ListenerOptions): this
  /** Registers a listener for an event of one aggregate type. */
  register(
    aggregateType: string | AggregateType,
    eventType: string | EventType,
    listener: AnyListener<unknown>,
    options?: ListenerOptions<unknown>,
  ): this
  /** Registers one listener for several events. */
  register(
    events: readonly EventTypeLike[],
    listener: AnyListener<unknown>,
    options?: ListenerOptions<unknown>,
  ): this
  /** Registers a listener for an event without an aggregate type. */
  register(eventType: string, listener: AnyListener<unknown>, options?: ListenerOptions<unknown>): this
  /** Registers a listener for a defined event. It gets the payload typed and checked. */
  register<Input, Output>(
    event: DefinedEvent<Input, Output>,
    listener: AnyListener<Output>,
    options?: ListenerOptions<Output>,
  ): this
  register(...args: readonly unknown[]): this {
    const { events, listener, options = {} } = readArguments(args)
    const route = routeOf(events.map(({ eventType }) => eventType).join(', '), listener, options)
    for (const { aggregateType, eventType } of events) this.#requireFree(aggregateType, eventType)
    for (const { aggregateType, eventType, schema } of events) {
      this.#routesOf(aggregateType).set(eventType, { ...route, schema })
    }
    this.#types = undefined
    return this
  }

  /** Registers the listener of all events that have none of their own. */
  registerDefault(listener: AnyListener<unknown>, options: ListenerOptions<unknown> = {}): this {
    if (this.#defaultRoute !== undefined) {
      throw new OutboxError('OUTBOX_DUPLICATE_LISTENER', 'A default listener is registered already.')
    }
    this.#defaultRoute = { ...routeOf('any event', listener, options), schema: undefined }
    return this
  }

  listenerFor(aggregateType: string, eventType: string): EventListener | BatchEventListener | undefined {
    return this.routeFor(aggregateType, eventType)?.listener
  }

  routeFor(aggregateType: string, eventType: string): Route | undefined {
    return this.#routes.get(aggregateType)?.get(eventType) ?? this.#defaultRoute
  }

  /**
   * The types that have a listener; undefined if the default listener takes all. It is the same array until
   * another listener is registered.
   */
  get types(): readonly TypeName[] | undefined {
    if (this.#defaultRoute !== undefined) return undefined
    this.#types ??= [...this.#routes].flatMap(([aggregateType, routes]) =>
      [...routes.keys()].map((eventType) => ({ aggregateType, eventType })),
    )
    return this.#types
  }

  /** The error for an event without a listener. */
  unroutable(eventId: string, aggregateType: string, eventType: string): UnroutableEventError {
    const known = [...this.#routes].flatMap(([aggregate, routes]) =>
      [...routes.keys()].map((type) => `${aggregate}:${type}`),
    )
    return new UnroutableEventError(
      `No listener is registered for event type "${eventType}" of aggregate type "${aggregateType}" (event ${eventId}). ` +
        `Registered: ${known.join(', ') || 'none'}.${didYouMean(`${aggregateType}:${eventType}`, known)} Register the definition of the event, or both names: register('${aggregateType}', '${eventType}', listener). If another version of this process has the listener, deploy it. Then replay.`,
    )
  }

  /** The event types that have a listener of their own; undefined if a default listener takes all. */
  get eventTypes(): readonly string[] | undefined {
    if (this.#defaultRoute !== undefined) return undefined
    return [...new Set([...this.#routes.values()].flatMap((routes) => [...routes.keys()]))]
  }

  #routesOf(aggregateType: string): Map<string, Route> {
    const known = this.#routes.get(aggregateType)
    if (known !== undefined) return known
    const routes = new Map<string, Route>()
    this.#routes.set(aggregateType, routes)
    return routes
  }

  #requireFree(aggregateType: string, eventType: string): void {
    if (this.#routes.get(aggregateType)?.has(eventType) !== true) return
    throw new OutboxError(
      'OUTBOX_DUPLICATE_LISTENER',
      `A listener for event type "${eventType}" of aggregate type "${aggregateType}" is registered already. ` +
        'There is one listener per event: call both from one, or use an interceptor for what concerns all events.',
    )
  }
}

/** Whether a listener takes batches. */
export function isBatchListener(
  listener: EventListener | BatchEventListener,
): listener is BatchEventListener {
  return 'onEvents' in listener
}

interface Registration {
  readonly events: readonly EventName[]
  readonly listener: unknown
  readonly options?: unknown
}

interface EventName extends TypeName {
  readonly schema?: StandardSchema | undefined
}

function readArguments([first, second, third, fourth]: readonly unknown[]): Registration {
  if (first instanceof BoundEventListener) return { events: [first], listener: first, options: second }
  if (Array.isArray(first)) return { events: first.map(eventNameOf), listener: second, options: third }
  if (isListener(second)) return { events: [eventNameOf(first)], listener: second, options: third }
  if (isDefinedEvent(first)) return { events: [eventNameOf(first)], listener: second, options: third }

  const aggregateType = eventNameOf(first).eventType
  return { events: [{ ...eventNameOf(second), aggregateType }], listener: third, options: fourth }
}

function eventNameOf(value: unknown): EventName {
  if (isDefinedEvent(value)) {
    return { aggregateType: value.aggregateType, eventType: value.name, schema: value.schema }
  }
  const name = typeof value === 'object' && value !== null ? nameOf(value as EventType) : value
  if (typeof name === 'string' && name !== '')
    return { aggregateType: AggregateType.GLOBAL.name, eventType: name }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'on and register take an event type (a defined event, a name, or an object with a name) or several, a listener, and options.',
  )
}

function routeOf(eventTypes: string, listener: unknown, options: unknown): Omit<Route, 'schema'> {
  checkOptions(`the listener for ${eventTypes}`, options, {
    retry: having('computeDelayMs'),
    fallback: callable,
    timeoutMs: duration,
    maxBatchSize: count,
  })
  if (typeof listener === 'function') {
    return { listener: { onEvent: listener as ListenerFunction }, options: options as ListenerOptions }
  }
  if (isListener(listener))
    return { listener: listener as EventListener, options: options as ListenerOptions }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The listener for ${eventTypes} must be a function or an object with onEvent() or onEvents().`,
  )
}

function isListener(value: unknown): boolean {
  return (
    typeof value === 'function' ||
    having('onEvent')(value) === undefined ||
    having('onEvents')(value) === undefined
  )
}
