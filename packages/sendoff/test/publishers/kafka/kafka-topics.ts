import { Admin, Consumer } from '@platformatic/kafka'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import type { StoredMessage } from '../../../src/testing/publisher-check.ts'

export interface ConsumedMessage extends StoredMessage {
  readonly key: string | null
  readonly partition: number
}

/** Creates a topic. */
export async function makeTopic(url: string, topic: string, partitions = 1): Promise<string> {
  const admin = new Admin({ clientId: 'sendoff-test', bootstrapBrokers: bootstrapBrokers(url), retries: 20 })
  try {
    await admin.createTopics({ topics: [topic], partitions, replicas: -1 })
  } finally {
    await admin.close()
  }
  return topic
}

let groups = 0

/** Returns all messages of a topic, each partition in its order. */
export async function consumeTopic(url: string, topic: string): Promise<readonly ConsumedMessage[]> {
  const consumer = new Consumer({
    clientId: 'sendoff-test',
    groupId: `sendoff-test-${process.pid}-${groups++}`,
    bootstrapBrokers: bootstrapBrokers(url),
    retries: 20,
    maxWaitTime: 100,
  })
  try {
    const ends = await consumer.listOffsets({ topics: [topic] })
    let left = ends.get(topic)!.reduce((sum, end) => sum + Number(end), 0)
    const messages: ConsumedMessage[] = []
    if (left === 0) return messages

    const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
    for await (const message of stream) {
      const headers = Object.fromEntries(
        [...message.headers].map(([name, value]) => [String(name), String(value)]),
      )
      messages.push({
        key: message.key === null || message.key === undefined ? null : String(message.key),
        partition: message.partition,
        body: message.value,
        contentType: headers['content-type'],
        headers,
      })
      if (--left === 0) break
    }
    return messages
  } finally {
    await consumer.close(true)
  }
}
