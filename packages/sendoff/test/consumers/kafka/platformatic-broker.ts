import { Consumer } from '@platformatic/kafka'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { kafkaConsumer } from '../../../src/consumers/kafka/index.ts'
import { closingClient, type ConsumedBroker } from '../consumed-broker.ts'
import { groupOf, kafkaBroker } from './kafka-broker.ts'

export function openBroker(url: string): Promise<ConsumedBroker> {
  return kafkaBroker(url, async (topic, options) => {
    const client = platformaticConsumer(url, topic)
    const consumer = kafkaConsumer({ consumer: client, topics: [topic], ...options })
    return closingClient(consumer, () => client.close(true))
  })
}

export function platformaticConsumer(url: string, topic: string): Consumer {
  return new Consumer({
    clientId: 'sendoff-test',
    groupId: groupOf(topic),
    bootstrapBrokers: bootstrapBrokers(url),
    maxWaitTime: 50,
    sessionTimeout: 6_000,
    heartbeatInterval: 200,
    retries: 3,
    retryDelay: 100,
  })
}
