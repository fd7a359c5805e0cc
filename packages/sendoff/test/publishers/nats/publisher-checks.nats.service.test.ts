import { natsPublisher } from '../../../src/publishers/nats/index.ts'
import { natsServer } from '../../../../../test/services/servers/nats/nats-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { NatsStreams } from './nats-streams.ts'
import { type BrokerUnderTest, runPublisherChecks } from '../run-publisher-checks.ts'

function underTest(streams: NatsStreams): BrokerUnderTest {
  return {
    makeDestination: (name) => streams.make(name),
    unknownDestination: 'nobody.listens',
    publisher: ({ destination, ...options }) =>
      Promise.resolve(natsPublisher({ jetstream: streams.jetstream, subject: destination, ...options })),
    stored: (destination) => streams.stored(destination),
    close: () => streams.close(),
  }
}

runPublisherChecks('the NATS publisher', {
  unknownDestinations: 'refused',
  tooLargeBytes: 600_000,
  silence: 'waitedFor',
  attributePrefix: 'ce-',
  encodesHeaders: true,
  openShared: async () => underTest(await NatsStreams.open(process.env['NATS_URL']!)),

  async openPrivate() {
    const folder = temporaryFolder('nats')
    const server = await natsServer(folder.path)
    const streams = await NatsStreams.open(server.url)
    return {
      ...underTest(streams),
      broker: server,
      async close() {
        await streams.close()
        await server.kill()
        folder.remove()
      },
    }
  },
})
