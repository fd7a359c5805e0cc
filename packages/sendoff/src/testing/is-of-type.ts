import { type DefinedEvent, type EventType, isDefinedEvent, nameOf } from '../event/event-type.ts'

/** Whether an event has this type: by its name, and by its aggregate type too where a definition says it. */
export function isOfType(
  { eventType, aggregateType }: { readonly eventType: string; readonly aggregateType: string },
  type: string | EventType | DefinedEvent<never, unknown>,
): boolean {
  return eventType === nameOf(type) && (!isDefinedEvent(type) || aggregateType === type.aggregateType)
}
