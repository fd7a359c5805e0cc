import 'reflect-metadata'
import type { InjectionToken } from '@nestjs/common'
import type { DefinedEvent, ListenerOptions, RetryPolicy } from 'sendoff'
import { AggregateType } from 'sendoff'

/** An event that a decorator names: a defined event, or the names of its types. */
export type ListenedEvent = DefinedEvent<never, unknown> | NamedEvent

/** The names of an event. */
export interface NamedEvent {
  readonly aggregateType: string
  readonly eventType: string
}

/** What `@OutboxListener` says about a class or a method. */
export interface ListenerMetadata {
  /** The name of the outbox; undefined for the default one. */
  readonly outbox: string | undefined
  /** The events; `'*'` for all that have no other listener; undefined for a `BoundEventListener`. */
  readonly events: readonly ListenedEvent[] | '*' | undefined
  readonly options: ListenerOptions<unknown>
}

/** What `@OutboxFallback` says about a method. */
export interface FallbackMetadata {
  /** The events; undefined for all events of the class. */
  readonly events: readonly ListenedEvent[] | undefined
}

/** What `@OutboxRetryable` says: a policy, or the token of a provider of one. */
export type RetryableMetadata = RetryPolicy | InjectionToken<RetryPolicy>

const listenerKey = 'sendoff:listener'
const fallbackKey = 'sendoff:fallback'
const retryableKey = 'sendoff:retryable'

/** Adds what a decorator says about a listener. One class or method may listen several times. */
export function addListener(target: object, metadata: ListenerMetadata): void {
  Reflect.defineMetadata(listenerKey, [...ownListenersOf(target), metadata], target)
}

/** What decorators say about the listeners of a class or a method; empty if nothing. */
export function listenersOf(target: object): readonly ListenerMetadata[] {
  return (Reflect.getMetadata(listenerKey, target) as ListenerMetadata[] | undefined) ?? []
}

function ownListenersOf(target: object): readonly ListenerMetadata[] {
  return (Reflect.getOwnMetadata(listenerKey, target) as ListenerMetadata[] | undefined) ?? []
}

/** Makes a method a fallback. */
export function setFallback(target: object, metadata: FallbackMetadata): void {
  Reflect.defineMetadata(fallbackKey, metadata, target)
}

/** Returns for which events a method is a fallback; undefined if it is none. */
export function fallbackOf(target: object): FallbackMetadata | undefined {
  return Reflect.getMetadata(fallbackKey, target) as FallbackMetadata | undefined
}

/** Gives a class or a method a retry policy. */
export function setRetryable(target: object, metadata: RetryableMetadata): void {
  Reflect.defineMetadata(retryableKey, metadata, target)
}

/** Returns the retry policy of a class or a method, or its token; undefined if it has none. */
export function retryableOf(target: object): RetryableMetadata | undefined {
  return Reflect.getMetadata(retryableKey, target) as RetryableMetadata | undefined
}

/** The events of a decorator's argument: one event or several, each defined or given by name. */
export function eventsOf(argument: unknown): readonly ListenedEvent[] {
  const events = Array.isArray(argument) ? (argument as readonly unknown[]) : [argument]
  return events.map((event) => {
    if (typeof event === 'object' && event !== null && 'of' in event) {
      return event as DefinedEvent<never, unknown>
    }
    return { aggregateType: AggregateType.GLOBAL.name, eventType: nameOf(event) }
  })
}

/** Returns the names of an event. */
export function namesOf(event: ListenedEvent): NamedEvent {
  return 'eventType' in event ? event : { aggregateType: event.aggregateType, eventType: event.name }
}

/** Whether two decorators name the same event. */
export function isSameEvent(one: ListenedEvent, other: ListenedEvent): boolean {
  const [a, b] = [namesOf(one), namesOf(other)]
  return a.eventType === b.eventType && a.aggregateType === b.aggregateType
}

/** The name of a type that is given as a name or as an object. */
export function nameOf(type: unknown): string {
  return typeof type === 'string' ? type : (type as { readonly name: string }).name
}
