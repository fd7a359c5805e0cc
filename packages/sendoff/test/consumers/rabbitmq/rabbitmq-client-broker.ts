import { Connection } from 'rabbitmq-client'
import { rabbitmqConsumer } from '../../../src/consumers/rabbitmq/index.ts'
import { closingClient, type ConsumedBroker } from '../consumed-broker.ts'
import { rabbitmqBroker } from './rabbitmq-broker.ts'

export function openBroker(url: string): Promise<ConsumedBroker> {
  return rabbitmqBroker(url, async (queue, options, through = url) => {
    const connection = new Connection({ url: through, retryLow: 50, retryHigh: 200 })
    connection.on('error', () => {})
    const consumer = rabbitmqConsumer({ connection, queue, ...options })
    return closingClient(consumer, () => connection.unsafeDestroy())
  })
}
