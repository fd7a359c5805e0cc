import { type ChainableCommander, Redis } from 'ioredis'
import { redisStore } from '../../packages/sendoff/src/stores/redis/index.ts'
import type { FaultStore } from './fault-store.ts'
import { accessFrom } from './server-access.ts'

// With the hash tag of the outbox, as a Cluster would ask for it.
const business = '{outbox}:business'

/** A server that keeps every write on disk and is restarted, connections that are ended, and a network that loses things. */
export const redisFaultStore: FaultStore = {
  // Only the driver needs what it takes to have a server.
  site: async (folder, slots) => (await import('./redis-site.ts')).redisSite(folder, slots),

  answersDuplicatesLater: true,

  open(location) {
    const { url, timeoutMs } = accessFrom(location)
    const client = new Redis(url, {
      // Soon back when the server is.
      retryStrategy: (times) => Math.min(times * 50, 200),
      ...(timeoutMs !== undefined && { socketTimeout: timeoutMs, connectTimeout: timeoutMs }),
    })
    // Told by every command as well.
    client.on('error', () => {})
    return { store: redisStore({ client }), end: async () => client.disconnect() }
  },

  async prepare() {},

  async addBusinessRow(tx: ChainableCommander, id) {
    tx.sadd(business, id)
  },

  async businessRows(location) {
    const client = new Redis(location)
    try {
      return await client.smembers(business)
    } finally {
      client.disconnect()
    }
  },
}
