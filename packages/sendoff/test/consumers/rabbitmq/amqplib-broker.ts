import { connect } from 'amqplib'
import { rabbitmqConsumer } from '../../../src/consumers/rabbitmq/index.ts'
import type { ConsumedBroker } from '../consumed-broker.ts'
import { rabbitmqBroker } from './rabbitmq-broker.ts'

export function openBroker(url: string): Promise<ConsumedBroker> {
  return rabbitmqBroker(url, (queue, options, through = url) =>
    Promise.resolve(rabbitmqConsumer({ connection: () => connect(through), queue, ...options })),
  )
}
