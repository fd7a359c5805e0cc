import { Redis } from 'ioredis'
import { runRedisStreamsChecks } from './run-redis-streams-checks.ts'

runRedisStreamsChecks('ioredis', async (url) => {
  const client = new Redis(url, { retryStrategy: () => 100 })
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
})
