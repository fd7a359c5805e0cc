import { deepEqual, equal, notDeepEqual, rejects } from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { redis } from './redis.ts'
import { type RedisServer, redisServer } from './redis-server.ts'
import { processesWithin, StartedService } from './started-service.ts'
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts'

// Where the address of one is given, there need not be another.
const skip = !(await redis.find()) && 'redis is not on this machine'

describe('the service redis', () => {
  it('is up', async () => {
    equal(await ask(process.env['REDIS_URL']!, (client) => client.ping()), 'PONG')
  })
})

describe('a server of redis', { skip }, () => {
  let folder: TemporaryFolder
  let server: RedisServer

  before(async () => {
    folder = temporaryFolder('server')
    server = await redisServer({ folder: folder.path, persistence: 'everyWrite' })
  })
  after(async () => {
    await server.kill()
    folder.remove()
  })

  const ends: Readonly<Record<string, () => Promise<void>>> = {
    'a stop': () => server.stop(),
    'a kill': () => server.kill(),
  }
  for (const [name, end] of Object.entries(ends)) {
    it(`comes back after ${name} at the same address and with what was written`, async () => {
      const { url } = server
      await ask(url, (client) => client.set(name, 'kept'))
      await end()
      deepEqual(processesWithin(folder.path), [])
      await rejects(ask(url, (client) => client.ping()))
      await server.start()

      equal(server.url, url)
      equal(await ask(url, (client) => client.get(name)), 'kept')
    })
  }

  it('does nothing when it is down already', async () => {
    await server.stop()
    await server.stop()
    await server.kill()
    await server.start()
  })
})

describe('a process with redis', { skip }, () => {
  let started: StartedService | undefined
  afterEach(() => started?.remove())

  for (const how of ['launched', 'alone'] as const) {
    it(`leaves nothing behind when it is ended by a signal, its service being ${how}`, async () => {
      started = await StartedService.start(redis, how)
      notDeepEqual(started.processes(), [])

      equal(await started.end('SIGTERM'), 143)
      deepEqual(await started.remains(), [])
    })
  }
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
