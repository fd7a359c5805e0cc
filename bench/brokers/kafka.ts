import { kafkaPublisher } from 'sendoff/kafka'
import { bootstrapBrokers } from '../../test/services/servers/kafka/kafka-cluster.ts'
import { kafka } from '../../test/services/servers/kafka/kafka.ts'
import type { RelayBroker } from './relay-broker.ts'

const partitions = 6
const allReplicas = -1

/** Kafka through @platformatic/kafka, with an idempotent producer. */
export const kafkaBroker: RelayBroker = {
  name: 'kafka',
  service: kafka,

  async open(topic) {
    const { Admin, Producer } = await import('@platformatic/kafka')
    const brokers = { clientId: 'bench', bootstrapBrokers: bootstrapBrokers(process.env['KAFKA_URL']!) }
    const admin = new Admin(brokers)
    await admin.createTopics({ topics: [topic], partitions })
    const producer = new Producer({ ...brokers, idempotent: true, retries: 3, retryDelay: 200 })
    return {
      publisher: kafkaPublisher({ producer, topic }),
      sendAll: (messages) =>
        producer.send({
          messages: messages.map(({ key, contentType, headers, body }) => ({
            topic,
            key: Buffer.from(key),
            value: body,
            headers: new Map(
              Object.entries({ ...headers, 'content-type': contentType }).map(([name, value]) => [
                Buffer.from(name),
                Buffer.from(value),
              ]),
            ),
          })),
          acks: allReplicas,
        }),
      async remove() {
        await producer.close()
        await admin.deleteTopics({ topics: [topic] })
        await admin.close()
      },
    }
  },
}
