import type { EventEnvelope } from '../event/event-envelope.ts'
import { routed } from '../publisher.ts'
import { cloudEventAttributes, structuredCloudEvent } from './cloud-event.ts'
import type { PublisherOptions } from './publisher-options.ts'

/** An event as it goes over the wire, whatever the broker. */
export interface WireMessage {
  readonly body: string | Uint8Array
  readonly contentType: string
  /** With `event-id` always, so that consumers can tell a message that comes twice. */
  readonly headers: Readonly<Record<string, string>>
}

export type WireOptions = Pick<PublisherOptions, 'headers' | 'body' | 'cloudEvents'>

/** `attributePrefix` is what the broker's CloudEvents binding puts before the names of attributes. */
export function wireMessage(
  event: EventEnvelope,
  { headers = {}, body, cloudEvents }: WireOptions,
  attributePrefix: string,
): WireMessage {
  const content = body === undefined ? (event.payloadJson ?? event.payloadBytes) : body(event)
  const contentType =
    event.contentType ?? (typeof content === 'string' ? 'application/json' : 'application/octet-stream')
  const further = { ...event.headers, ...routed(headers, event), 'event-id': event.eventId }

  if (cloudEvents === undefined) {
    return { body: content, contentType, headers: { ...plainHeaders(event), ...further } }
  }
  const attributes = cloudEventAttributes(event, cloudEvents)
  if (cloudEvents.mode === 'structured') {
    return {
      body: structuredCloudEvent(attributes, content, contentType),
      contentType: 'application/cloudevents+json',
      headers: further,
    }
  }
  const prefixed = Object.entries(attributes).map(([name, value]) => [attributePrefix + name, value] as const)
  return { body: content, contentType, headers: { ...further, ...Object.fromEntries(prefixed) } }
}

function plainHeaders(event: EventEnvelope): Record<string, string> {
  const { eventType, aggregateType, aggregateId, tenantId, occurredAt } = event
  return {
    'event-type': eventType,
    'aggregate-type': aggregateType,
    ...(aggregateId !== null && { 'aggregate-id': aggregateId }),
    ...(tenantId !== null && { 'tenant-id': tenantId }),
    'occurred-at': occurredAt.toISOString(),
  }
}

/** A header's value in printable ASCII: everything else, and `%` itself, is percent-encoded as in a URL. */
export function asciiValue(value: string): string {
  return /^[\x20-\x24\x26-\x7e]*$/.test(value) && value === value.trim()
    ? value
    : value.toWellFormed().replaceAll(/[^\x21\x23\x24\x26-\x7e]+/g, encodeURIComponent)
}

export function bodyBytes(body: string | Uint8Array): Buffer {
  return typeof body === 'string'
    ? Buffer.from(body)
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}
