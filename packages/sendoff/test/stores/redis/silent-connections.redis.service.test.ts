import { describe } from 'node:test'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { silentConnectionChecks } from '../../fixtures/silent-connections.ts'

describe('redis store: connections that are dead', () => {
  const serverUrl = () => process.env['REDIS_URL']!
  let made = 0
  const prefix = () => `silent-${process.pid}-${made}`

  silentConnectionChecks({
    name: 'ioredis',
    serverUrl,
    async open(test, url) {
      if (url !== serverUrl()) made++
      const client = new Redis(url)
      client.on('error', () => {})
      test.after(() => client.disconnect())
      return redisStore({ client, prefix: prefix() })
    },
  })

  silentConnectionChecks({
    name: 'redis',
    serverUrl,
    async open(test, url) {
      if (url !== serverUrl()) made++
      const client = createClient({ url })
      client.on('error', () => {})
      await client.connect()
      test.after(() => client.destroy())
      return redisStore({ client, prefix: prefix() })
    },
  })
})
