/** A message as an adapter got it from its broker. */
export interface IncomingMessage {
  /** Where it came from: a topic, a queue, a subject, a stream or the path of a webhook. */
  readonly source: string
  /** Its place there, for the log: partition and offset, or a sequence number. */
  readonly place?: string
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string | undefined
  readonly body: Buffer
  /** The value of a JSON body that the client has parsed already. */
  readonly json?: { readonly value: unknown }
  /** The key that the sender gave it, for order. */
  readonly key: string | null
  /** The id that the broker itself carries for the sender, such as `messageId` of AMQP. */
  readonly brokerId?: string | undefined
  /** The type that the broker itself carries for the sender, such as `type` of AMQP. */
  readonly brokerType?: string | undefined
}

/** Returns headers with names in lower case. It leaves out values that are neither text nor plain. */
export function plainHeaders(entries: Iterable<readonly [unknown, unknown]>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of entries) {
    const text = textOf(value)
    if (text !== undefined) headers[String(name).toLowerCase()] = text
  }
  return headers
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  // A header that comes several times has the value that was set last.
  if (Array.isArray(value)) return textOf(value.at(-1))
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}
