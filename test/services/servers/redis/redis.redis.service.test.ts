import { Redis } from 'ioredis'
import { describeBrokerService } from '../describe-broker-service.ts'
import { redis } from './redis.ts'
import { redisServer } from './redis-server.ts'

await describeBrokerService({
  service: redis,

  async startServer(folder) {
    const server = await redisServer({ folder, persistence: 'everyWrite' })
    return { server, remove: () => server.kill() }
  },

  write: async (url, name) => void (await ask(url, (client) => client.set(name, 'written'))),
  has: async (url, name) => (await ask(url, (client) => client.get(name))) === 'written',
})

async function ask<Answer>(url: string, question: (client: Redis) => Promise<Answer>): Promise<Answer> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await question(client)
  } finally {
    client.disconnect()
  }
}
