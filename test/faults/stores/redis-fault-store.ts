import { type ChainableCommander, Redis } from 'ioredis'
import { redisStore } from '../../../packages/sendoff/src/stores/redis/index.ts'
import type { FaultStore } from './fault-store.ts'
import { lockName, thief } from './lock-harms.ts'
import { accessFrom } from './server-access.ts'

// With the hash tag of the outbox, as a Cluster requires.
const business = '{outbox}:business'
const locks = '{outbox}:locks'

/**
 * A store on a server that has every write on disk and is restarted, with connections that are ended, and a
 * network that loses data.
 */
export const redisFaultStore: FaultStore = {
  // Only the driver needs the code that starts a server.
  site: async (folder, slots) => (await import('./redis-site.ts')).redisSite(folder, slots),

  answersDuplicatesLater: true,

  open(location) {
    const { url, timeoutMs } = accessFrom(location)
    const client = new Redis(url, {
      // Reconnects soon after the server is back.
      retryStrategy: (times) => Math.min(times * 50, 200),
      ...(timeoutMs !== undefined && { socketTimeout: timeoutMs, connectTimeout: timeoutMs }),
    })
    // Every command reports it as well.
    client.on('error', () => {})
    return { store: redisStore({ client }), end: async () => client.disconnect() }
  },

  async prepare() {},

  async addBusinessRow(tx: ChainableCommander, id) {
    tx.sadd(business, id)
  },

  businessRows: (location) => withClient(location, (client) => client.smembers(business)),

  lock: {
    token: (location) =>
      withClient(location, async (client) => {
        const script = `
          local packed = redis.call('HGET', KEYS[1], ARGV[1])
          return packed and cmsgpack.unpack(packed)[1]`
        return ((await client.eval(script, 1, locks, lockName)) as string | null) ?? undefined
      }),

    delete: (location) => withClient(location, async (client) => void (await client.del(locks))),

    steal: (location, forMs) =>
      withClient(location, async (client) => {
        const script = `
          local time = redis.call('TIME')
          local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
          redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack({ ARGV[2], now + tonumber(ARGV[3]), false }))`
        await client.eval(script, 1, locks, lockName, thief, Math.ceil(forMs))
      }),
  },
}

async function withClient<Result>(
  location: string,
  work: (client: Redis) => Promise<Result>,
): Promise<Result> {
  const client = new Redis(location, { retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}
