import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { pinnedPartitions } from '../../../src/publishers/kafka/index.ts'
import { runKafkaChecks } from './run-kafka-checks.ts'

runKafkaChecks('kafkajs', async (url) => {
  const kafka = new Kafka({
    clientId: 'sendoff-test',
    brokers: bootstrapBrokers(url),
    logLevel: logLevel.NOTHING,
    retry: { retries: 2, initialRetryTime: 200 },
  })
  const producer = kafka.producer({
    createPartitioner: pinnedPartitions(Partitioners.DefaultPartitioner),
  })
  await producer.connect()
  return { producer, close: () => producer.disconnect() }
})
