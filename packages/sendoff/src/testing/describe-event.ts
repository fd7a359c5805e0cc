import { EventEnvelope } from '../event/event-envelope.ts'
import type { StoredRow } from '../store/index.ts'

const longestPayload = 200

/** Describes an event in one line, for a failed test: type, id and the beginning of the payload. */
export function describeEvent(event: EventEnvelope | StoredRow): string {
  const payload = event instanceof EventEnvelope ? (event.payloadJson ?? event.payloadBytes) : event.payload
  return `${event.eventType} ${event.eventId} ${typeof payload === 'string' ? shortened(payload) : `${payload.length} bytes`}`
}

function shortened(json: string): string {
  return json.length > longestPayload ? `${json.slice(0, longestPayload)}…` : json
}
