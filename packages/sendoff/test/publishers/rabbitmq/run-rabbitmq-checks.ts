import type { RabbitmqPublisher, RabbitmqPublisherOptions } from '../../../src/publishers/rabbitmq/index.ts'
import { rabbitmqPublisher } from '../../../src/publishers/rabbitmq/index.ts'
import { rabbitmqServer } from '../../../../../test/services/servers/rabbitmq/rabbitmq-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { type BrokerUnderTest, runPublisherChecks } from '../run-publisher-checks.ts'
import { makeQueue, queuedMessages } from './rabbitmq-queues.ts'

/** A client on a broker. */
export interface RabbitmqClientUnderTest {
  readonly connection: RabbitmqPublisherOptions['connection']
  close(): Promise<void>
}

/** Runs the checks of publishers with one of the clients. */
export function runRabbitmqChecks(name: string, openClient: (url: string) => RabbitmqClientUnderTest): void {
  const underTest = (url: string): BrokerUnderTest => {
    const client = openClient(url)
    const publishers: RabbitmqPublisher[] = []
    return {
      makeDestination: (queue) => makeQueue(url, queue),
      unknownDestination: 'nobody-has-this-queue',
      publisher({ destination, ...options }) {
        const publisher = rabbitmqPublisher({
          connection: client.connection,
          routingKey: destination,
          ...options,
        })
        publishers.push(publisher)
        return Promise.resolve(publisher)
      },
      stored: (queue) => queuedMessages(url, queue),
      async close() {
        await Promise.all(publishers.map((publisher) => publisher.close()))
        await client.close()
      },
    }
  }

  runPublisherChecks(name, {
    unknownDestinations: 'refused',
    tooLargeBytes: 600_000,
    silence: 'waitedFor',
    attributePrefix: 'cloudEvents:',
    encodesHeaders: false,
    openShared: () => Promise.resolve(underTest(process.env['RABBITMQ_URL']!)),

    async openPrivate() {
      const folder = temporaryFolder('rabbitmq')
      const rabbitmq = await rabbitmqServer(folder.path)
      const broker = underTest(rabbitmq.server.url)
      return {
        ...broker,
        async makeDestination(name) {
          const queue = await broker.makeDestination(name)
          // A broker that forgets a queue also loses its messages, even confirmed ones.
          await rabbitmq.writeDown()
          return queue
        },
        broker: rabbitmq.server,
        async close() {
          await broker.close()
          await rabbitmq.remove()
          folder.remove()
        },
      }
    },
  })
}
