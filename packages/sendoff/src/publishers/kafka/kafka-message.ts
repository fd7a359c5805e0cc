import type { KafkajsTopicMessages, KafkaProducer, PlatformaticMessage } from './kafka-client.ts'

/** A message for Kafka, whatever the client. */
export interface KafkaMessage {
  readonly topic: string
  readonly key: string | null
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

/** Hands messages to the producer in one go. Resolves when all in-sync replicas have them. */
export async function produce(producer: KafkaProducer, messages: readonly KafkaMessage[]): Promise<void> {
  if ('sendBatch' in producer) await producer.sendBatch({ topicMessages: byTopic(messages) })
  else await producer.send({ messages: messages.map(platformaticMessage), acks: allReplicas })
}

const allReplicas = -1

function byTopic(messages: readonly KafkaMessage[]): KafkajsTopicMessages[] {
  const topics = new Map<string, KafkajsTopicMessages>()
  for (const { topic, key, partition, headers, body } of messages) {
    let entry = topics.get(topic)
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }))
    entry.messages.push({
      key,
      value: body,
      headers,
      ...(partition !== undefined && { partition }),
    })
  }
  return [...topics.values()]
}

function platformaticMessage({ topic, key, partition, headers, body }: KafkaMessage): PlatformaticMessage {
  return {
    topic,
    value: body,
    headers: bufferHeaders(headers),
    ...(key !== null && { key: Buffer.from(key) }),
    ...(partition !== undefined && { partition }),
  }
}

function bufferHeaders(headers: Readonly<Record<string, string>>): Map<Buffer, Buffer> {
  const buffers = new Map<Buffer, Buffer>()
  for (const name in headers) {
    const header = headerBuffers(name)
    buffers.set(header.name, header.of(headers[name]!))
  }
  return buffers
}

/** A header as bytes. Most have the same value in one message after another. */
class HeaderBuffers {
  readonly name: Buffer
  #lastValue: string | undefined
  #last = Buffer.alloc(0)

  constructor(name: string) {
    this.name = Buffer.from(name)
  }

  of(value: string): Buffer {
    if (value !== this.#lastValue) {
      this.#last = Buffer.from(value)
      this.#lastValue = value
    }
    return this.#last
  }
}

const knownHeaders = new Map<string, HeaderBuffers>()
const maxKnownHeaders = 1_000

function headerBuffers(name: string): HeaderBuffers {
  const known = knownHeaders.get(name)
  if (known !== undefined) return known

  const header = new HeaderBuffers(name)
  if (knownHeaders.size < maxKnownHeaders) knownHeaders.set(name, header)
  return header
}
