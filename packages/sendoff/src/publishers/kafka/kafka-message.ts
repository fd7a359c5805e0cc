/** A message for Kafka, whatever the client. */
export interface KafkaMessage {
  readonly topic: string
  readonly key: string | Buffer | null
  readonly partition: number | undefined
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** Approximate size of its record, in bytes. */
  readonly size: number
}

// More than a record needs besides its value and its headers; usually this includes the key.
const recordOverhead = 256
const headerOverhead = 8

/** Returns the approximate size of a record, and errs on the large side. */
export function recordSize(body: Buffer, headers: Readonly<Record<string, string>>): number {
  let size = recordOverhead + body.length
  for (const name in headers) size += headerOverhead + name.length + headers[name]!.length
  return size
}
