import { type DefinedEvent, type EventType, isDefinedEvent, nameOf } from '../event/event-type.ts'

/**
 * Returns whether an event has this type: by its name, and by its aggregate type if a definition gives one.
 */
export function isOfType(
  { eventType, aggregateType }: { readonly eventType: string; readonly aggregateType: string },
  type: string | EventType | DefinedEvent<never, unknown>,
): boolean {
  return eventType === nameOf(type) && (!isDefinedEvent(type) || aggregateType === type.aggregateType)
}
