import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import {
  redisStreamsPublisher,
  type RedisStreamsClient,
} from '../../../src/publishers/redis-streams/index.ts'
import { type BrokerUnderTest, runPublisherChecks } from '../run-publisher-checks.ts'
import { storedInStream } from './stored-in-stream.ts'

/** A client on a server. */
export interface RedisClientUnderTest {
  readonly client: RedisStreamsClient
  close(): void
}

/** Runs the checks of publishers with one of the clients. */
export function runRedisStreamsChecks(
  name: string,
  openClient: (url: string) => Promise<RedisClientUnderTest>,
): void {
  const underTest = async (url: string): Promise<BrokerUnderTest> => {
    const { client, ...opened } = await openClient(url)
    return {
      makeDestination: (stream) => Promise.resolve(`${name}:${stream}`),
      unknownDestination: 'any',
      publisher: ({ destination, ...options }) =>
        Promise.resolve(redisStreamsPublisher({ client, stream: destination, ...options })),
      stored: (stream) => storedInStream(url, stream),
      close: async () => opened.close(),
    }
  }

  runPublisherChecks(`the Redis Streams publisher on ${name}`, {
    unknownDestinations: 'made',
    tooLargeBytes: undefined,
    silence: 'waitedFor',
    attributePrefix: 'ce-',
    encodesHeaders: false,
    openShared: () => underTest(process.env['REDIS_URL']!),

    async openPrivate() {
      const folder = temporaryFolder('redis')
      const server = await redisServer({ folder: folder.path, persistence: 'everyWrite' })
      const broker = await underTest(server.url)
      return {
        ...broker,
        broker: server,
        async close() {
          await broker.close()
          await server.kill()
          folder.remove()
        },
      }
    },
  })
}
