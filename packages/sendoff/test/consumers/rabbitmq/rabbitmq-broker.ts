import { connect } from 'amqplib'
import { rabbitmqPublisher } from '../../../src/publishers/rabbitmq/index.ts'
import type { ConsumedBroker } from '../consumed-broker.ts'

/** Returns a broker whose queues are looked at from a connection of its own. */
export async function rabbitmqBroker(
  url: string,
  consumer: ConsumedBroker['consumer'],
): Promise<ConsumedBroker> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  const publishers: { close(): Promise<void> }[] = []
  return {
    async makeDestination(name) {
      await channel.assertQueue(name, { durable: true })
      return name
    },
    publisher(routingKey) {
      const publisher = rabbitmqPublisher({ connection: () => connect(url), routingKey, logger: false })
      publishers.push(publisher)
      return Promise.resolve(publisher)
    },
    async sendWithoutId(queue) {
      channel.sendToQueue(queue, Buffer.from('"no id"'), { contentType: 'application/json' })
    },
    consumer,
    async unacknowledged(queue) {
      return (await channel.checkQueue(queue)).messageCount
    },
    async close() {
      await Promise.all(publishers.map((publisher) => publisher.close()))
      await connection.close()
    },
  }
}
