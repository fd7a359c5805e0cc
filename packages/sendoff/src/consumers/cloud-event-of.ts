import type { IncomingMessage } from './incoming-message.ts'

/** The parts of a CloudEvent that a consumer uses. */
export interface ReceivedCloudEvent {
  readonly id: string | undefined
  readonly source: string | undefined
  readonly type: string | undefined
  readonly subject: string | undefined
  readonly partitionKey: string | undefined
  readonly time: string | undefined
  /** The trace of the sender, by the extension for distributed tracing. */
  readonly trace: Readonly<Record<string, string>> | undefined
  /** The content of a structured event; undefined in binary mode, in which it is the body. */
  readonly content: StructuredContent | undefined
}

/** The content of a structured CloudEvent. */
export interface StructuredContent {
  readonly contentType: string | undefined
  /** A JSON value, or bytes. */
  readonly data: unknown
}

/** The prefixes of attributes in headers: of HTTP and NATS, of Kafka, and both of AMQP. */
const prefixes = ['ce-', 'ce_', 'cloudevents:', 'cloudevents_']

/**
 * Reads a CloudEvent from a message, in binary or structured mode. Returns undefined if the message is none.
 * Throws a SyntaxError if it claims to be one and is not JSON.
 */
export function cloudEventOf(message: IncomingMessage): ReceivedCloudEvent | undefined {
  const { headers, contentType } = message
  if (contentType !== undefined && /^application\/cloudevents\+json\b/i.test(contentType)) {
    return structured(JSON.parse(message.body.toString()))
  }
  const prefix = prefixes.find((each) => headers[`${each}specversion`] !== undefined)
  if (prefix === undefined) return undefined
  return eventFrom((name) => headers[prefix + name], undefined)
}

function structured(document: unknown): ReceivedCloudEvent | undefined {
  if (typeof document !== 'object' || document === null) return undefined
  const fields = document as Readonly<Record<string, unknown>>
  const text = (name: string): string | undefined => {
    const value = fields[name]
    return typeof value === 'string' ? value : undefined
  }
  const encoded = text('data_base64')
  const data = encoded === undefined ? (fields['data'] ?? null) : Buffer.from(encoded, 'base64')
  return eventFrom(text, { contentType: text('datacontenttype'), data })
}

function eventFrom(
  attribute: (name: string) => string | undefined,
  content: StructuredContent | undefined,
): ReceivedCloudEvent {
  return {
    id: attribute('id'),
    source: attribute('source'),
    type: attribute('type'),
    subject: attribute('subject'),
    partitionKey: attribute('partitionkey'),
    time: attribute('time'),
    trace: traceFrom(attribute('traceparent'), attribute('tracestate')),
    content,
  }
}

function traceFrom(
  traceparent: string | undefined,
  tracestate: string | undefined,
): ReceivedCloudEvent['trace'] {
  if (traceparent === undefined) return undefined
  return { traceparent, ...(tracestate !== undefined && { tracestate }) }
}
