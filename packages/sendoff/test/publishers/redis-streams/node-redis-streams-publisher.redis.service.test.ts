import { createClient } from 'redis'
import { runRedisStreamsChecks } from './run-redis-streams-checks.ts'

runRedisStreamsChecks('redis', async (url) => {
  const client = createClient({ url, socket: { reconnectStrategy: () => 100 } })
  client.on('error', () => {})
  await client.connect()
  return { client, close: () => client.destroy() }
})
