import type { InjectionToken, Type } from '@nestjs/common'
import { type DiscoveryService, MetadataScanner, type ModuleRef } from '@nestjs/core'
import {
  BoundEventListener,
  type EventListener,
  type ListenerFunction,
  type ListenerOptions,
  type ListenerRegistry,
  OutboxError,
  type RetryPolicy,
} from 'sendoff'
import { type DiscoveredProvider, ListenerInstances } from './listener-instances.ts'
import {
  type FallbackMetadata,
  fallbackOf,
  isSameEvent,
  type ListenedEvent,
  type ListenerMetadata,
  listenersOf,
  namesOf,
  retryableOf,
} from './listener-metadata.ts'
import { requestDecoratorOf } from './listener-pipeline.ts'
import { defaultOutboxName } from './outbox-tokens.ts'

/** The parts of the application that are searched for listeners. */
export interface ListenerExplorerParts {
  readonly discovery: DiscoveryService
  readonly moduleRef: ModuleRef
}

/** Finds the listeners of the application, and registers those of one outbox. */
export class ListenerExplorer {
  readonly #parts: ListenerExplorerParts
  readonly #scanner = new MetadataScanner()

  constructor(parts: ListenerExplorerParts) {
    this.#parts = parts
  }

  /** Registers every listener of the outbox of this name that providers and controllers have. */
  register(outbox: string, registry: ListenerRegistry): void {
    for (const [provider, type] of this.#found()) this.#registerProvider(outbox, registry, provider, type)
  }

  /** The names of the outboxes that listeners are for, each with the name of such a listener. */
  outboxNames(): ReadonlyMap<string, string> {
    const names = new Map<string, string>()
    for (const [, type] of this.#found()) {
      for (const { metadata } of this.#listenersIn(type)) {
        names.set(metadata.outbox ?? defaultOutboxName, type.name)
      }
    }
    return names
  }

  // Several tokens may lead to one instance.
  #found(): ReadonlyMap<DiscoveredProvider, Type> {
    const { discovery } = this.#parts
    const found = new Map<unknown, readonly [DiscoveredProvider, Type]>()
    for (const provider of [...discovery.getProviders(), ...discovery.getControllers()]) {
      const types = provider.isAlias ? [] : classesOf(provider)
      const type = types.find((each) => this.#listenersIn(each).length > 0)
      if (type !== undefined) found.set(provider.instance ?? provider, [provider, type])
    }
    return new Map(found.values())
  }

  #registerProvider(
    outbox: string,
    registry: ListenerRegistry,
    provider: DiscoveredProvider,
    type: Type,
  ): void {
    const listeners = this.#listenersIn(type)
    const instances = new ListenerInstances(provider, type, this.#parts.moduleRef)
    const fallbacks = this.#fallbacksIn(type)
    requireListenersFor(fallbacks, listeners, type)
    requireMethods(provider, type, [...listeners, ...fallbacks])
    for (const { method } of [...listeners, ...fallbacks]) refuseRequestDecorators(type, method)

    for (const { metadata, method } of listeners) {
      if ((metadata.outbox ?? defaultOutboxName) !== outbox) continue
      const options = this.#optionsOf(type, method, metadata)
      const call = instances.caller(method)
      if (metadata.events === '*') {
        registry.registerDefault(
          listenerOf(method, call),
          withFallback(options, fallbacks, undefined, instances),
        )
        continue
      }
      for (const event of metadata.events ?? [boundEventOf(provider, type)]) {
        const complete = withFallback(options, fallbacks, event, instances)
        const listener = listenerOf(method, call)
        if ('eventType' in event) registry.register(event.aggregateType, event.eventType, listener, complete)
        else registry.register(event as never, listener, complete)
      }
    }
  }

  #listenersIn(type: Type): readonly FoundListener[] {
    const prototype = type.prototype as Record<string, object>
    const ofClass = listenersOf(type).map((metadata) => ({ metadata, method: classMethodOf(type) }))
    const isBound = type.prototype instanceof BoundEventListener
    return [
      ...ofClass,
      ...(isBound && ofClass.length === 0 ? [{ metadata: bound, method: 'onEvent' }] : []),
      ...this.#methodsOf(type).flatMap((method) =>
        listenersOf(prototype[method]!).map((metadata) => ({ metadata, method })),
      ),
    ]
  }

  #fallbacksIn(type: Type): readonly FoundFallback[] {
    const prototype = type.prototype as Record<string, object>
    return this.#methodsOf(type).flatMap((method) => {
      const metadata = fallbackOf(prototype[method]!)
      return metadata === undefined ? [] : [{ metadata, method }]
    })
  }

  #methodsOf(type: Type): readonly string[] {
    return this.#scanner.getAllMethodNames(type.prototype as object)
  }

  #optionsOf(type: Type, method: string, { options }: ListenerMetadata): ListenerOptions<unknown> {
    const retryable = retryableOf((type.prototype as Record<string, object>)[method]!) ?? retryableOf(type)
    if (retryable === undefined || options.retry !== undefined) return options
    if (typeof retryable === 'object' && 'computeDelayMs' in retryable)
      return { ...options, retry: retryable }
    const token = retryable as InjectionToken<RetryPolicy>
    try {
      return { ...options, retry: this.#parts.moduleRef.get(token, { strict: false }) }
    } catch (error) {
      throw new OutboxError(
        'OUTBOX_INVALID_OPTION',
        `@OutboxRetryable(${tokenName(token)}) of ${type.name} names no provider. Add a provider of a RetryPolicy with this token, or give the policy itself.`,
        { cause: error },
      )
    }
  }
}

/**
 * The classes whose decorators may count: that of the provider or of its instance, and the token. With the
 * latter, a value that overrides a listener in a test gets the events of the listener.
 */
function classesOf({ metatype, isNotMetatype, instance, token }: DiscoveredProvider): readonly Type[] {
  const made = isNotMetatype ? (instance as object | null)?.constructor : metatype
  return [made, token].filter(
    (each): each is Type => typeof each === 'function' && typeof each.prototype === 'object',
  )
}

function requireMethods(
  { instance, isNotMetatype }: DiscoveredProvider,
  type: Type,
  found: readonly { readonly method: string }[],
): void {
  if (!isNotMetatype) return
  for (const { method } of found) {
    if (typeof (instance as Record<string, unknown>)[method] === 'function') continue
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `A value takes the place of the listener ${type.name}, but it has no method ${method}(). Add one.`,
    )
  }
}

// Left alone, a guard would seem to protect the listener.
function refuseRequestDecorators(type: Type, method: string): void {
  const decorator = requestDecoratorOf((type.prototype as Record<string, object>)[method]!)
  if (decorator === undefined) return
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `${decorator}() of ${type.name}.${method} is for requests, and does not run for events. Use @UseInterceptors(), or check in the method.`,
  )
}

interface FoundListener {
  readonly metadata: ListenerMetadata
  readonly method: string
}

interface FoundFallback {
  readonly metadata: FallbackMetadata
  readonly method: string
}

const bound: ListenerMetadata = { outbox: undefined, events: undefined, options: {} }

function listenerOf(method: string, call: (...args: readonly unknown[]) => Promise<unknown>): EventListener {
  return (method === 'onEvents' ? { onEvents: call } : { onEvent: call as ListenerFunction }) as EventListener
}

function classMethodOf(type: Type): string {
  const prototype = type.prototype as object
  const method = ['onEvent', 'onEvents'].find((each) => each in prototype)
  if (method !== undefined) return method
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The class ${type.name} has @OutboxListener(), but no method onEvent() or onEvents(). Add one, or move the decorator to a method.`,
  )
}

function boundEventOf(provider: DiscoveredProvider, type: Type): ListenedEvent {
  if (provider.instance instanceof BoundEventListener && provider.isDependencyTreeStatic()) {
    const { aggregateType, eventType } = provider.instance
    return { aggregateType, eventType }
  }
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The listener ${type.name} names no event: it is no BoundEventListener, or is request-scoped and names its event only when an event arrives. Name the event in @OutboxListener().`,
  )
}

function withFallback(
  options: ListenerOptions<unknown>,
  fallbacks: readonly FoundFallback[],
  event: ListenedEvent | undefined,
  instances: ListenerInstances,
): ListenerOptions<unknown> {
  const own = fallbacks.find(({ metadata }) =>
    metadata.events?.some((each) => event !== undefined && isSameEvent(each, event)),
  )
  const found = own ?? fallbacks.find(({ metadata }) => metadata.events === undefined)
  return found === undefined ? options : { ...options, fallback: instances.caller(found.method) }
}

function requireListenersFor(
  fallbacks: readonly FoundFallback[],
  listeners: readonly FoundListener[],
  type: Type,
): void {
  const heard = listeners.flatMap(({ metadata: { events = [] } }) => (events === '*' ? [] : events))
  for (const { metadata, method } of fallbacks) {
    const idle = metadata.events?.find((event) => !heard.some((each) => isSameEvent(each, event)))
    if (idle === undefined) continue
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      `${type.name}.${method} is the fallback for the event "${namesOf(idle).eventType}", but ${type.name} has no listener for it. A fallback belongs into the class of its listener.`,
    )
  }
}

function tokenName(token: InjectionToken): string {
  return typeof token === 'function' ? token.name : String(token)
}
