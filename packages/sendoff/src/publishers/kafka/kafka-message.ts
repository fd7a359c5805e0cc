/** A message for Kafka, whatever the client. */
export interface KafkaMessage {
  readonly topic: string
  readonly key: string | Buffer | null
  readonly partition: number | undefined
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** About how large its record is. */
  readonly size: number
}

// More than a record has beside its value and its headers, the key included as a rule.
const recordOverhead = 256
const headerOverhead = 8

/** Not to the byte, and rather too much: there is room between this and what brokers take. */
export function recordSize(body: Buffer, headers: Readonly<Record<string, string>>): number {
  let size = recordOverhead + body.length
  for (const name in headers) size += headerOverhead + name.length + headers[name]!.length
  return size
}
