import { deepEqual, equal, throws } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import {
  type RedisStreamsClient,
  redisStreamsPublisher,
  type RedisStreamsPublisherOptions,
} from '../../../src/publishers/redis-streams/index.ts'
import {
  kindsOf,
  publish,
  publishAll,
  sampleEvent,
  sampleEvents,
} from '../../../src/testing/publisher-checks/publish-steps.ts'

const url = process.env['REDIS_URL']!
const ioredis = new Redis(url)
const nodeRedis = createClient({ url })

describe('redisStreamsPublisher', () => {
  before(() => nodeRedis.connect())
  after(() => {
    ioredis.disconnect()
    nodeRedis.destroy()
  })

  const clients: Readonly<Record<string, RedisStreamsClient>> = { ioredis, redis: nodeRedis }
  for (const [name, client] of Object.entries(clients)) {
    it(`keeps about maxLength messages, with ${name}`, async () => {
      const stream = `trimmed-${name}-${process.pid}`
      const publisher = redisStreamsPublisher({ client, stream, maxLength: 100 })
      for (let batch = 0; batch < 10; batch++) await publishAll(publisher, sampleEvents(100))
      const length = await ioredis.xlen(stream)
      equal(length >= 100 && length < 400, true, `${length} messages`)
    })

    it(`fails if a key is not a stream, with ${name}`, async () => {
      const stream = `string-${name}-${process.pid}`
      await ioredis.set(stream, 'occupied')
      const answers = await publish(redisStreamsPublisher({ client, stream }), [sampleEvent(1)])
      deepEqual(kindsOf(answers), ['OUTBOX_PUBLISH_FAILED'])
    })
  }

  it('waits for a server that has no memory left', async () => {
    const folder = temporaryFolder('full-redis')
    const settings = { maxmemory: '3mb', 'maxmemory-policy': 'noeviction' }
    const server = await redisServer({ folder: folder.path, persistence: 'none', settings })
    const client = new Redis(server.url)
    const publisher = redisStreamsPublisher({ client, stream: 'full', logger: false, retryAfterMs: 1 })
    const large = { payloadBytes: new Uint8Array(500_000) }
    const kinds: string[] = []
    for (let number = 0; number < 20; number++) {
      kinds.push(...kindsOf(await publish(publisher, [sampleEvent(number, large)])))
    }
    equal(kinds.at(-1), 'retryAfter')
    deepEqual([...new Set(kinds)].sort(), ['done', 'retryAfter'])
    client.disconnect()
    await server.kill()
    folder.remove()
  })

  it('names the options that it needs', () => {
    const refused = { code: 'OUTBOX_INVALID_OPTION' }
    throws(
      () => redisStreamsPublisher({ client: ioredis } as unknown as RedisStreamsPublisherOptions),
      refused,
    )
    throws(
      () => redisStreamsPublisher({ client: {}, stream: 'a' } as unknown as RedisStreamsPublisherOptions),
      refused,
    )
  })
})
