import { Redis } from 'ioredis'
import {
  redisStreamsConsumer,
  type RedisStreamsConsumerClient,
} from '../../../src/consumers/redis-streams/index.ts'
import { redisStreamsPublisher } from '../../../src/publishers/redis-streams/index.ts'
import { closingClient, type ConsumedBroker } from '../consumed-broker.ts'

const group = 'tested'

/** A client on a server. */
export interface OpenClient {
  readonly client: RedisStreamsConsumerClient
  close(): void
}

/** Returns a broker whose streams are looked at from a client of its own. */
export function redisBroker(url: string, openClient: (url: string) => Promise<OpenClient>): ConsumedBroker {
  const redis = new Redis(url)
  return {
    makeDestination: (name) => Promise.resolve(name),
    publisher: (stream) => Promise.resolve(redisStreamsPublisher({ client: redis, stream, logger: false })),
    async sendWithoutId(stream) {
      await redis.xadd(stream, '*', 'payload', '"no id"')
    },
    async consumer(stream, options, through = url) {
      const opened = await openClient(through)
      const consumer = redisStreamsConsumer({
        client: opened.client,
        stream,
        group,
        claimAfterMs: 300,
        ...options,
      })
      return closingClient(consumer, () => opened.close())
    },
    async unacknowledged(stream) {
      const [pending] = (await redis.xpending(stream, group)) as [number]
      const groups = (await redis.xinfo('GROUPS', stream)) as unknown[][]
      const fields = groups[0]!
      const lag = Number(fields[fields.indexOf('lag') + 1])
      return pending + lag
    },
    close: async () => redis.disconnect(),
  }
}

/** Adds an entry to a stream, with an id that is this many milliseconds old. */
export async function addOldEntry(url: string, stream: string, ageMs: number): Promise<void> {
  const redis = new Redis(url)
  await redis.xadd(stream, `${Date.now() - ageMs}-0`, 'event-id', 'old', 'payload', '{}')
  redis.disconnect()
}
