import type { EventEnvelope } from '../event/event-envelope.ts'
import { routed } from '../publisher.ts'
import { cloudEventAttributes, structuredCloudEvent } from './cloud-event.ts'
import type { PublisherOptions } from './publisher-options.ts'

/** An event as it goes over the wire, whatever the broker. */
export interface WireMessage {
  readonly body: string | Uint8Array
  readonly contentType: string
  /**
   * Always has `event-id`, so that consumers can recognise a message that comes twice. The caller may add
   * headers.
   */
  readonly headers: Record<string, string>
}

type Headers = Readonly<Record<string, string>>

/** The options of a publisher that shape a message. */
export type WireOptions = Pick<PublisherOptions, 'headers' | 'body' | 'cloudEvents'>

/**
 * Returns the message for an event. `attributePrefix` is the prefix of attribute names in the broker's
 * CloudEvents binding. `headersFrom` converts the headers of the event and the options, if not all of them
 * can be sent unchanged.
 */
export function wireMessage(
  event: EventEnvelope,
  { headers: furtherHeaders, body, cloudEvents }: WireOptions,
  attributePrefix: string,
  headersFrom: (headers: Headers) => Headers = (headers) => headers,
): WireMessage {
  const content = body === undefined ? (event.payloadJson ?? event.payloadBytes) : body(event)
  const contentType =
    event.contentType ?? (typeof content === 'string' ? 'application/json' : 'application/octet-stream')
  const headers = cloudEvents === undefined ? plainHeaders(event) : {}
  Object.assign(headers, headersFrom(event.headers))
  if (furtherHeaders !== undefined) Object.assign(headers, headersFrom(routed(furtherHeaders, event)))
  headers['event-id'] = event.eventId
  if (cloudEvents === undefined) return { body: content, contentType, headers }

  const attributes = cloudEventAttributes(event, cloudEvents)
  if (cloudEvents.mode === 'structured') {
    const document = structuredCloudEvent(attributes, content, contentType)
    return { body: document, contentType: 'application/cloudevents+json', headers }
  }
  for (const [name, value] of Object.entries(attributes)) headers[attributePrefix + name] = value
  return { body: content, contentType, headers }
}

// Runs for every message, so it builds the object in one step.
function plainHeaders(event: EventEnvelope): Record<string, string> {
  const headers: Record<string, string> = {
    'event-id': event.eventId,
    'event-type': event.eventType,
    'aggregate-type': event.aggregateType,
    'occurred-at': event.occurredAt.toISOString(),
  }
  if (event.aggregateId !== null) headers['aggregate-id'] = event.aggregateId
  if (event.tenantId !== null) headers['tenant-id'] = event.tenantId
  return headers
}

/**
 * Returns a header's value in printable ASCII: everything else, and `%` itself, is percent-encoded as in a
 * URL.
 */
export function asciiValue(value: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(value) && value === value.trim()
    ? value
    : value.toWellFormed().replaceAll(/[^\x21\x23\x24\x26-\x7e]+/g, encodeURIComponent)
}

/** Returns a body as bytes. */
export function bodyBytes(body: string | Uint8Array): Buffer {
  return typeof body === 'string'
    ? Buffer.from(body)
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}
