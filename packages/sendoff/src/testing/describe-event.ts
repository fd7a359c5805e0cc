import type { EventEnvelope } from '../event/event-envelope.ts'

const longestPayload = 200

/** One line for a person who looks for the event that is missing: type, id and the beginning of the payload. */
export function describeEvent({ eventType, eventId, payloadJson, payloadBytes }: EventEnvelope): string {
  return `${eventType} ${eventId} ${payloadJson === undefined ? `${payloadBytes.length} bytes` : shortened(payloadJson)}`
}

function shortened(json: string): string {
  return json.length > longestPayload ? `${json.slice(0, longestPayload)}…` : json
}
