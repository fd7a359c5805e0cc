import { it } from 'node:test'
import { bootstrapBrokers } from '../../../../test/services/kafka-cluster.ts'
import type { ConfluentProducer } from '../../src/publishers/kafka/index.ts'
import { runKafkaChecks } from './kafka/run-kafka-checks.ts'

interface ConfluentPackage {
  readonly KafkaJS: {
    readonly Kafka: new (options: object) => {
      producer(options: object): ConfluentProducer & { disconnect(): Promise<void> }
    }
  }
}

// It is built by a compiler when it is installed, and thus not among what is installed for tests.
const name: string = '@confluentinc/kafka-javascript'
const confluent = await import(name).then(
  (loaded: ConfluentPackage) => loaded,
  () => undefined,
)

if (confluent === undefined) {
  it(`the Kafka publisher on ${name}`, { skip: 'it is not installed' }, () => {})
} else {
  runKafkaChecks(name, async (url) => {
    const kafka = new confluent.KafkaJS.Kafka({
      kafkaJS: { clientId: 'sendoff-test', brokers: bootstrapBrokers(url), logLevel: 0 },
    })
    const producer = kafka.producer({
      'topic.metadata.propagation.max.ms': 2_000,
      kafkaJS: { idempotent: true, acks: -1 },
    })
    await producer.connect()
    return { producer, close: () => producer.disconnect() }
  })
}
