import type { InjectionToken, Type } from '@nestjs/common'
import { ContextIdFactory, type ModuleRef } from '@nestjs/core'
import type { BatchContext, DispatchContext, EventEnvelope, FinalFailure } from 'sendoff'
import { callMethod, listenerMethod, type ListenerMethod } from './listener-pipeline.ts'

/** A provider or controller with listeners, as `DiscoveryService` returns it. */
export interface DiscoveredProvider {
  readonly token: InjectionToken
  readonly metatype: unknown
  /** Whether a factory or a value, and not the class, makes the instance. */
  readonly isNotMetatype: boolean
  readonly instance: unknown
  isDependencyTreeStatic(): boolean
  readonly isTransient: boolean
}

/** What a request-scoped listener gets as `REQUEST`. */
export interface OutboxRequest {
  /** The event; the first one of a batch. */
  readonly event: EventEnvelope
  /** All events of the call: one, unless the listener gets batches. */
  readonly events: readonly EventEnvelope[]
  /** The context of the delivery of `event`; undefined in a fallback. */
  readonly context: DispatchContext | undefined
}

/** The arguments of a listener, of a batch listener, or of a fallback. */
type ListenerArguments =
  | readonly [event: EventEnvelope, context: DispatchContext | FinalFailure]
  | readonly [events: readonly EventEnvelope[], context: BatchContext]

/** Calls methods of a provider: on its only instance, or on one of its own for each event. */
export class ListenerInstances {
  readonly #provider: DiscoveredProvider
  readonly #type: Type
  readonly #moduleRef: ModuleRef
  readonly #methods = new Map<string, Promise<ListenerMethod>>()

  constructor(provider: DiscoveredProvider, type: Type, moduleRef: ModuleRef) {
    this.#provider = provider
    this.#type = type
    this.#moduleRef = moduleRef
  }

  /** Returns a function that calls the method of this name. */
  caller(name: string): (...args: readonly unknown[]) => Promise<unknown> {
    const type = this.#type
    if (!this.#provider.isDependencyTreeStatic() || this.#provider.isTransient) {
      return (...args) => this.#callForOneEvent(type, name, args)
    }
    return async (...args) => callMethod(type, await this.#method(type, name), args)
  }

  #method(type: Type, name: string): Promise<ListenerMethod> {
    const known = this.#methods.get(name)
    if (known !== undefined) return known
    const find = (each: Type) => this.#moduleRef.get<unknown>(each, { strict: false })
    const method = listenerMethod(type, this.#provider.instance as object, name, find)
    this.#methods.set(name, method)
    return method
  }

  async #callForOneEvent(type: Type, name: string, args: readonly unknown[]): Promise<unknown> {
    const contextId = ContextIdFactory.create()
    this.#moduleRef.registerRequestByContextId(requestOf(args as unknown as ListenerArguments), contextId)
    const find = (token: InjectionToken) =>
      this.#moduleRef.resolve<object>(token as Type<object>, contextId, { strict: false })
    const instance = await find(this.#provider.token)
    return callMethod(type, await listenerMethod(type, instance, name, find), args)
  }
}

function requestOf([subject, context]: ListenerArguments): OutboxRequest {
  if ('deliveries' in context) {
    const events = subject as readonly EventEnvelope[]
    return { event: events[0]!, events, context: context.deliveries[0] }
  }
  const event = subject as EventEnvelope
  return { event, events: [event], context: 'signal' in context ? context : undefined }
}
