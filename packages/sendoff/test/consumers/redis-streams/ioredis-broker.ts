import { Redis } from 'ioredis'
import type { ConsumedBroker } from '../consumed-broker.ts'
import { redisBroker } from './redis-broker.ts'

export async function openBroker(url: string): Promise<ConsumedBroker> {
  return redisBroker(url, async (through) => {
    const client = new Redis(through, { retryStrategy: () => 50 })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  })
}
