import { didYouMean } from '../closest-name.ts'
import { OutboxError, UnroutableEventError } from '../errors.ts'
import {
  AggregateType,
  type DefinedEvent,
  type EventType,
  isDefinedEvent,
  nameOf,
} from '../event/event-type.ts'
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
  /** The destination of the option `routing` that it delivers to. Default: the empty one. */
  readonly destination?: string
}

/** The listener of an event, with the definition of the event and options. */
export interface Route {
  readonly listener: EventListener | BatchEventListener
  /** Undefined if the listener is registered by name: it gets every version of the payload as stored. */
  readonly definition: DefinedEvent<unknown> | undefined
  readonly options: ListenerOptions
}

/** Any form in which an event type can be given. */
export type EventTypeLike = string | EventType | DefinedEvent<never, unknown>

/** Anything that can be registered as a listener. */
export type AnyListener<Payload> = ListenerFunction<Payload> | EventListener<Payload> | BatchEventListener

/** The listeners of one destination. */
interface DestinationRoutes {
  // By aggregate type, then by event type. Every event is looked up here, so the lookup builds no string.
  readonly byType: Map<string, Map<string, Route>>
  default: Route | undefined
  types: readonly TypeName[] | undefined
}

/** Maps each aggregate type, event type and destination to exactly one listener. */
export class ListenerRegistry {
  readonly #unnamed: DestinationRoutes = { byType: new Map(), default: undefined, types: undefined }
  readonly #named = new Map<string, DestinationRoutes>()

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
    const { destination = '' } = route.options
    const addresses = events.flatMap(addressesOf)
    for (const [index, address] of addresses.entries())
      this.#requireFree(address, destination, addresses.slice(0, index))
    const routes = this.#routesTo(destination)
    for (const { aggregateType, eventType, definition } of addresses) {
      const ofAggregate = routes.byType.get(aggregateType) ?? new Map<string, Route>()
      routes.byType.set(aggregateType, ofAggregate.set(eventType, { ...route, definition }))
    }
    routes.types = undefined
    return this
  }

  /** Registers the listener of all events that have none of their own, for one destination. */
  registerDefault(listener: AnyListener<unknown>, options: ListenerOptions<unknown> = {}): this {
    const route = routeOf('any event', listener, options)
    const routes = this.#routesTo(route.options.destination ?? '')
    if (routes.default !== undefined) {
      throw new OutboxError('OUTBOX_DUPLICATE_LISTENER', 'A default listener is registered already.')
    }
    routes.default = { ...route, definition: undefined }
    return this
  }

  listenerFor(
    aggregateType: string,
    eventType: string,
    destination = '',
  ): EventListener | BatchEventListener | undefined {
    return this.routeFor(aggregateType, eventType, destination)?.listener
  }

  routeFor(aggregateType: string, eventType: string, destination = ''): Route | undefined {
    const routes = destination === '' ? this.#unnamed : this.#named.get(destination)
    return routes?.byType.get(aggregateType)?.get(eventType) ?? routes?.default
  }

  /** Whether there is any listener for a destination. */
  has(destination: string): boolean {
    const routes = destination === '' ? this.#unnamed : this.#named.get(destination)
    return routes !== undefined && (routes.default !== undefined || routes.byType.size > 0)
  }

  /** The destinations that have a listener, except the empty one. */
  get destinations(): readonly string[] {
    return [...this.#named.keys()]
  }

  /** The types that have a listener; undefined if the default listener takes all. */
  get types(): readonly TypeName[] | undefined {
    return this.typesTo('')
  }

  /**
   * The types that have a listener for a destination; undefined if a default listener takes all. It is the
   * same array until another listener is registered.
   */
  typesTo(destination: string): readonly TypeName[] | undefined {
    const routes = destination === '' ? this.#unnamed : this.#named.get(destination)
    if (routes === undefined) return noTypes
    if (routes.default !== undefined) return undefined
    routes.types ??= [...routes.byType].flatMap(([aggregateType, ofAggregate]) =>
      [...ofAggregate.keys()].map((eventType) => ({ aggregateType, eventType })),
    )
    return routes.types
  }

  /** The error for an event without a listener. */
  unroutable(
    eventId: string,
    aggregateType: string,
    eventType: string,
    destination = '',
  ): UnroutableEventError {
    const known = (this.typesTo(destination) ?? []).map((type) => `${type.aggregateType}:${type.eventType}`)
    const forDestination = destination === '' ? '' : ` and destination "${destination}"`
    return new UnroutableEventError(
      `No listener is registered for event type "${eventType}" of aggregate type "${aggregateType}"${forDestination} (event ${eventId}). ` +
        `Registered: ${known.join(', ') || 'none'}.${didYouMean(`${aggregateType}:${eventType}`, known)} Register the definition of the event, or both names: register('${aggregateType}', '${eventType}', listener). If another version of this process has the listener, deploy it. Then replay.`,
    )
  }

  /** The event types that have a listener of their own; undefined if a default listener takes all. */
  get eventTypes(): readonly string[] | undefined {
    const all = [this.#unnamed, ...this.#named.values()]
    if (all.some((routes) => routes.default !== undefined)) return undefined
    return [
      ...new Set(all.flatMap(({ byType }) => [...byType.values()].flatMap((routes) => [...routes.keys()]))),
    ]
  }

  #routesTo(destination: string): DestinationRoutes {
    if (destination === '') return this.#unnamed
    const known = this.#named.get(destination)
    if (known !== undefined) return known
    const routes: DestinationRoutes = { byType: new Map(), default: undefined, types: undefined }
    this.#named.set(destination, routes)
    return routes
  }

  #requireFree(
    { aggregateType, eventType, definition }: EventName,
    destination: string,
    before: readonly EventName[],
  ): void {
    const routes = destination === '' ? this.#unnamed : this.#named.get(destination)
    const other =
      routes?.byType.get(aggregateType)?.get(eventType) ??
      before.find((name) => name.aggregateType === aggregateType && name.eventType === eventType)
    if (other === undefined) return
    const alias = [definition, other.definition].find(
      (event) => event !== undefined && event.name !== eventType,
    )
    const forDestination = destination === '' ? '' : ` and destination "${destination}"`
    throw new OutboxError(
      'OUTBOX_DUPLICATE_LISTENER',
      `A listener for event type "${eventType}" of aggregate type "${aggregateType}"${forDestination} is registered already. ` +
        (alias === undefined
          ? 'There is one listener per event and destination: call both from one, give one of them a destination of its own, or use an interceptor for what concerns all events.'
          : `It is an alias of event "${alias.name}" as well. Each name leads to one event: remove the alias, or the other registration.`),
    )
  }
}

const noTypes: readonly TypeName[] = []

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
  readonly definition?: DefinedEvent<unknown> | undefined
}

/** The name of an event, and its former names. */
function addressesOf(event: EventName): readonly (EventName & Pick<Route, 'definition'>)[] {
  const { aggregateType, eventType, definition } = event
  const names = [{ aggregateType, eventType }, ...(definition?.aliases ?? [])]
  return names.map((name) => ({ ...name, definition }))
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
    return { aggregateType: value.aggregateType, eventType: value.name, definition: value }
  }
  const name = typeof value === 'object' && value !== null ? nameOf(value as EventType) : value
  if (typeof name === 'string' && name !== '')
    return { aggregateType: AggregateType.GLOBAL.name, eventType: name }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'on and register take an event type (a defined event, a name, or an object with a name) or several, a listener, and options.',
  )
}

function routeOf(eventTypes: string, listener: unknown, options: unknown): Omit<Route, 'definition'> {
  checkOptions(`the listener for ${eventTypes}`, options, {
    retry: having('computeDelayMs'),
    fallback: callable,
    timeoutMs: duration,
    maxBatchSize: count,
    destination: (value) => (typeof value === 'string' ? undefined : 'the name of a destination'),
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
