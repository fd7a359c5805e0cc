import { kafkaCluster } from '../../../../../test/services/servers/kafka/kafka-cluster.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { type KafkaProducer, kafkaPublisher } from '../../../src/publishers/kafka/index.ts'
import { type BrokerUnderTest, runPublisherChecks } from '../run-publisher-checks.ts'
import { consumeTopic, makeTopic } from './kafka-topics.ts'

/** A producer on a broker. */
export interface KafkaClientUnderTest {
  readonly producer: KafkaProducer
  close(): Promise<void>
}

/** Runs the checks of publishers with one of the clients. */
export function runKafkaChecks(
  name: string,
  openClient: (url: string) => Promise<KafkaClientUnderTest>,
): void {
  const underTest = async (url: string): Promise<BrokerUnderTest> => {
    const { producer, ...opened } = await openClient(url)
    return {
      makeDestination: (topic) => makeTopic(url, topic),
      unknownDestination: 'nobody-has-this-topic',
      publisher: ({ destination, ...options }) =>
        Promise.resolve(kafkaPublisher({ producer, topic: destination, ...options })),
      stored: (topic) => consumeTopic(url, topic),
      close: () => opened.close(),
    }
  }

  runPublisherChecks(`the Kafka publisher on ${name}`, {
    unknownDestinations: 'refused',
    tooLargeBytes: 600_000,
    silence: 'waitedFor',
    attributePrefix: 'ce_',
    encodesHeaders: false,
    openShared: () => underTest(process.env['KAFKA_URL']!),

    async openPrivate() {
      const folder = temporaryFolder('kafka')
      const cluster = await kafkaCluster(folder.path)
      const broker = await underTest(cluster.url)
      return {
        ...broker,
        broker: cluster.brokers[0]!,
        async close() {
          await broker.close()
          await cluster.kill()
          folder.remove()
        },
      }
    },
  })
}
