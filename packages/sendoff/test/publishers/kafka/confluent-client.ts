import { bootstrapBrokers } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import type { ConfluentProducer } from '../../../src/publishers/kafka/index.ts'

interface ConfluentPackage {
  readonly KafkaJS: {
    readonly Kafka: new (options: object) => {
      producer(options: object): ConfluentProducer & { disconnect(): Promise<void> }
    }
  }
}

/** The client's package. A compiler builds it during its installation, so it is no development dependency. */
export const confluentPackage: string = '@confluentinc/kafka-javascript'

const loaded = await import(confluentPackage).then(
  (confluent: ConfluentPackage) => confluent,
  (error: unknown) => {
    if ((error as { readonly code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  },
)

/** Why tests of the client cannot run here; false if they can. */
export const confluentIsMissing = loaded === undefined && `${confluentPackage} is not installed`

export interface ConfluentClient {
  readonly producer: ConfluentProducer
  close(): Promise<void>
}

/** Returns a producer that is not connected yet, with the options of its `kafkaJS` block. */
export function confluentProducer(url: string, options: object): ConfluentClient {
  const kafka = new loaded!.KafkaJS.Kafka({
    kafkaJS: { clientId: 'sendoff-test', brokers: bootstrapBrokers(url), logLevel: 0 },
  })
  const producer = kafka.producer({ 'topic.metadata.propagation.max.ms': 2_000, kafkaJS: options })
  return { producer, close: () => producer.disconnect() }
}

/** Returns a connected producer. */
export async function openConfluent(url: string, options: object): Promise<ConfluentClient> {
  const client = confluentProducer(url, options)
  await client.producer.connect()
  return client
}
