import { Consumer, Producer } from '@platformatic/kafka'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { kafkaPublisher } from '../../../src/publishers/kafka/index.ts'
import { makeTopic } from '../../publishers/kafka/kafka-topics.ts'
import type { ConsumedBroker } from '../consumed-broker.ts'

/** The group of the consumers of a topic. */
export function groupOf(topic: string): string {
  return `group-${topic}`
}

/** Returns a broker whose topics are looked at from clients of its own. */
export async function kafkaBroker(
  url: string,
  consumer: ConsumedBroker['consumer'],
): Promise<ConsumedBroker> {
  const brokers = bootstrapBrokers(url)
  const producer = new Producer({
    clientId: 'test',
    bootstrapBrokers: brokers,
    idempotent: true,
    retries: 3,
    retryDelay: 200,
  })
  return {
    makeDestination: (name, partitions) => makeTopic(url, name, partitions),
    publisher: (topic) => Promise.resolve(kafkaPublisher({ producer, topic, logger: false })),
    async sendWithoutId(topic) {
      await producer.send({ messages: [{ topic, partition: 0, value: Buffer.from('"no id"') }], acks: -1 })
    },
    consumer,
    async unacknowledged(topic) {
      const client = new Consumer({ clientId: 'test', groupId: groupOf(topic), bootstrapBrokers: brokers })
      const ends = (await client.listOffsets({ topics: [topic] })).get(topic)!
      const starts = ends.map((_, partition) => partition)
      const commits = await client.listCommittedOffsets({ topics: [{ topic, partitions: starts }] })
      await client.close(true)
      return ends.reduce((sum, end, partition) => {
        const committed = commits.get(topic)?.[partition] ?? -1n
        return sum + Number(end - (committed < 0n ? 0n : committed))
      }, 0)
    },
    async close() {
      await producer.close()
    },
  }
}
