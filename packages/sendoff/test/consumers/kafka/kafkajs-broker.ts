import { type Consumer, Kafka, logLevel } from 'kafkajs'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { kafkaConsumer } from '../../../src/consumers/kafka/index.ts'
import { closingClient, type ConsumedBroker } from '../consumed-broker.ts'
import { groupOf, kafkaBroker } from './kafka-broker.ts'

export function openBroker(url: string): Promise<ConsumedBroker> {
  return kafkaBroker(url, async (topic, options) => {
    const client = kafkajsConsumer(url, topic)
    const consumer = kafkaConsumer({ consumer: client, topics: [topic], ...options })
    return closingClient(consumer, () => client.disconnect())
  })
}

export function kafkajsConsumer(url: string, topic: string): Consumer {
  const kafka = new Kafka({ brokers: bootstrapBrokers(url), logLevel: logLevel.NOTHING })
  return kafka.consumer({
    groupId: groupOf(topic),
    sessionTimeout: 6_000,
    heartbeatInterval: 200,
    maxWaitTimeInMs: 50,
  })
}
