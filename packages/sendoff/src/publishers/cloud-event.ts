import type { EventEnvelope } from '../event/event-envelope.ts'
import { versionHeader } from '../event/event-versions.ts'
import { routed } from '../publisher.ts'
import type { CloudEventsOptions } from './publisher-options.ts'

// The trace context of an event becomes attributes; other headers stay headers.
const tracingHeaders = ['traceparent', 'tracestate']

/** Returns the attributes of CloudEvents 1.0, without the content type. */
export function cloudEventAttributes(
  event: EventEnvelope,
  { source, type }: CloudEventsOptions,
): Record<string, string> {
  const { eventId, eventType, aggregateId, orderingKey, occurredAt, headers } = event
  const version = headers[versionHeader]
  const tracing = tracingHeaders.filter((name) => headers[name] !== undefined)
  return {
    specversion: '1.0',
    id: eventId,
    source: routed(source, event),
    type: type === undefined ? eventType : routed(type, event),
    time: occurredAt.toISOString(),
    ...(aggregateId !== null && aggregateId !== '' && { subject: aggregateId }),
    ...(orderingKey !== null && orderingKey !== '' && { partitionkey: orderingKey }),
    ...(version !== undefined && { eventversion: version }),
    ...Object.fromEntries(tracing.map((name) => [name, headers[name]!])),
  }
}

/**
 * Returns an event in the JSON form. JSON content is embedded unchanged, so that numbers keep their digits.
 */
export function structuredCloudEvent(
  attributes: Readonly<Record<string, string>>,
  content: string | Uint8Array,
  contentType: string,
): string {
  const head = JSON.stringify({ ...attributes, datacontenttype: contentType }).slice(0, -1)
  if (typeof content !== 'string') {
    return `${head},"data_base64":"${Buffer.from(content).toString('base64')}"}`
  }
  return `${head},"data":${isJson(contentType) ? content : JSON.stringify(content)}}`
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\b/i.test(contentType)
}
