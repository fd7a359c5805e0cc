import { rabbitmqPublisher } from 'sendoff/rabbitmq'
import { rabbitmq } from '../../test/services/servers/rabbitmq/rabbitmq.ts'
import type { RelayBroker } from './relay-broker.ts'

/** RabbitMQ through amqplib: a durable queue, persistent messages, each confirmed. */
export const rabbitmqBroker: RelayBroker = {
  name: 'rabbitmq',
  service: rabbitmq,

  async open(queue) {
    const { connect } = await import('amqplib')
    const url = process.env['RABBITMQ_URL']!
    const connection = await connect(url)
    const channel = await connection.createConfirmChannel()
    await channel.assertQueue(queue, { durable: true })
    const publisher = rabbitmqPublisher({ connection: () => connect(url), routingKey: queue })
    return {
      publisher,
      sendAll: (messages) =>
        Promise.all(
          messages.map(
            ({ id, type, occurredAt, contentType, headers, body }) =>
              new Promise<void>((resolve, reject) => {
                const options = {
                  persistent: true,
                  mandatory: true,
                  messageId: id,
                  type,
                  timestamp: Math.floor(occurredAt.getTime() / 1_000),
                  contentType,
                  headers,
                }
                channel.publish('', queue, body, options, (error) =>
                  error ? reject(error as Error) : resolve(),
                )
              }),
          ),
        ),
      async remove() {
        await publisher.close()
        await channel.deleteQueue(queue)
        await connection.close()
      },
    }
  },
}
