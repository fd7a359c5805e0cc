import type { DefinedEvent, EventType, Fallback } from 'sendoff'
import { eventsOf, setFallback } from './listener-metadata.ts'

/** Decorates a method that the outbox calls when no further attempt will be made. */
export type OutboxFallbackDecorator<Payload> = <Method extends Fallback<Payload>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void

/** Makes a method the fallback of all listeners of its class. */
export function OutboxFallback(): OutboxFallbackDecorator<unknown>
/** Makes a method the fallback of the listeners of its class for these events. */
export function OutboxFallback(
  events: string | readonly (string | EventType | DefinedEvent<never, unknown>)[],
): OutboxFallbackDecorator<unknown>
/** Makes a method the fallback of the listeners of its class for a defined event. */
export function OutboxFallback<Input, Output>(
  event: DefinedEvent<Input, Output>,
): OutboxFallbackDecorator<Output>
export function OutboxFallback(events?: unknown): OutboxFallbackDecorator<never> {
  return (_target, _method, descriptor) =>
    setFallback(descriptor.value!, { events: events === undefined ? undefined : eventsOf(events) })
}
