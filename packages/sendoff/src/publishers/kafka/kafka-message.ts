import type { KafkajsTopicMessages, KafkaProducer, PlatformaticMessage } from './kafka-client.ts'

/** A message for Kafka, whatever the client. */
export interface KafkaMessage {
  readonly topic: string
  readonly key: string | null
  readonly partition: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** About how large its record is. */
  readonly size: number
}

// More than a record has beside its key, its value and its headers.
const recordOverhead = 64
const headerOverhead = 8

export function recordSize(message: Omit<KafkaMessage, 'size'>): number {
  let size = recordOverhead + message.body.length + Buffer.byteLength(message.key ?? '')
  for (const [name, value] of Object.entries(message.headers)) {
    size += headerOverhead + Buffer.byteLength(name) + Buffer.byteLength(value)
  }
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
      headers: { ...headers },
      ...(partition !== undefined && { partition }),
    })
  }
  return [...topics.values()]
}

function platformaticMessage({ topic, key, partition, headers, body }: KafkaMessage): PlatformaticMessage {
  return {
    topic,
    value: body,
    headers: new Map(Object.entries(headers).map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
    ...(key !== null && { key: Buffer.from(key) }),
    ...(partition !== undefined && { partition }),
  }
}
