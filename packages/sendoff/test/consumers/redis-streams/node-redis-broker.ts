import { createClient } from 'redis'
import type { ConsumedBroker } from '../consumed-broker.ts'
import { redisBroker } from './redis-broker.ts'

export async function openBroker(url: string): Promise<ConsumedBroker> {
  return redisBroker(url, async (through) => {
    const client = createClient({ url: through, socket: { reconnectStrategy: () => 50 } })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  })
}
