import { Producer } from '@platformatic/kafka'
import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { runKafkaChecks } from './run-kafka-checks.ts'

runKafkaChecks('@platformatic/kafka', async (url) => {
  const producer = new Producer({
    clientId: 'sendoff-test',
    bootstrapBrokers: bootstrapBrokers(url),
    idempotent: true,
    retries: 2,
    retryDelay: 200,
  })
  return { producer, close: () => producer.close() }
})
