import { deepEqual, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import { redis } from '../../../../../test/services/servers/redis/redis.ts'
import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { type OutboxStore, usualDoctorRequest } from '../../../src/store/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'
import { startOutbox } from '../../fixtures/outbox-fixture.ts'
import { testedClients } from './tested-clients.ts'

const clients = await testedClients()
// Servers last: whatever still uses them has ended then.
const servers: { end(): Promise<void> }[] = []
after(async () => {
  for (const client of clients) await client.close()
  for (const server of servers) await server.end()
})
let prefixes = 0

for (const { name, client } of clients) {
  const newStore = () => redisStore({ client, prefix: `wake-ups-${process.pid}-${++prefixes}` })

  describe(`wake-ups of a redis store on ${name}`, () => {
    it('come at each announcement, until whoever listens has stopped', async () => {
      const store = newStore()
      const signals = new Signals()
      const stop = await store.wakeUps.listen(signals.onSignal)
      const seen = signals.count
      await store.wakeUps.announce()
      await signals.until(seen + 1)
      await stop()
      const heard = signals.count
      const others = new Signals()
      const stopOthers = await store.wakeUps.listen(others.onSignal)
      const seenByOthers = others.count
      await store.wakeUps.announce()
      await others.until(seenByOthers + 1)
      await stopOthers()

      equal(signals.count, heard)
    })

    it('end with the store, and stopping twice is no error', async () => {
      const store = newStore()
      const signals = new Signals()
      const stop = await store.wakeUps.listen(signals.onSignal)
      const heard = signals.count
      await store.close()
      await stop()
      await stop()
      const others = new Signals()
      const stopOthers = await store.wakeUps.listen(others.onSignal)
      const seen = others.count
      await store.wakeUps.announce()
      await others.until(seen + 1)
      await stopOthers()

      equal(signals.count, heard)
    })

    it('are part of a transaction that is told to announce its rows, and of no other', async () => {
      const store = newStore()
      const signals = new Signals()
      const stop = await store.wakeUps.listen(signals.onSignal)
      const seen = signals.count
      await store.transaction((tx) => store.insert({ tx, rows: [sampleRow()], lease: leaseOf('a') }))
      await store.transaction((tx) =>
        store.insert({ tx, rows: [sampleRow()], lease: leaseOf('a'), announce: true }),
      )
      await signals.until(seen + 1)
      await store.wakeUps.announce()
      await signals.until(seen + 2)
      await stop()

      equal(signals.count, seen + 2)
    })

    it('bring what one process has written to another at once', async (test) => {
      const store = newStore()
      const { metrics, listener } = await startOutbox(test, store)
      const writer = await Outbox.writerOnly({ store, logger: false }).start()
      await writer.transaction(() => writer.write('Tested', 'from elsewhere'))
      await metrics.until((seen) => seen.dispatchSuccess === 1)

      deepEqual(listener.payloads, ['from elsewhere'])
      await writer.close()
    })
  })
}

describe('wake-ups of a client with a prefix of its own for all keys', () => {
  it('come by ioredis', async (test) => {
    const client = new Redis(process.env['REDIS_URL']!, { keyPrefix: `mine-${process.pid}:` })
    test.after(() => client.disconnect())

    await announced(redisStore({ client }))
    equal(await client.exists('{outbox}:rows'), 1)
  })

  it('come by redis', async (test) => {
    const keyPrefix = `yours-${process.pid}:`
    const client = await createClient({ url: process.env['REDIS_URL']!, keyPrefix }).connect()
    test.after(() => client.destroy())

    await announced(redisStore({ client }))
    equal(await client.exists('{outbox}:rows'), 1)
  })
})

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('wake-ups after Redis was away', { skip }, () => {
  it('come to those who listen by ioredis, since signals may have been missed', async (test) => {
    const { url, restart } = await ownServer()
    const client = new Redis(url, { retryStrategy: () => 20 })
    client.on('error', () => {})
    test.after(() => client.disconnect())

    await comeBack(redisStore({ client }), restart)
  })

  it('may stop while ioredis subscribes anew', async (test) => {
    const proxy = await faultProxy(process.env['REDIS_URL']!)
    test.after(() => proxy.close())
    const client = new Redis(proxy.url, { retryStrategy: () => 20 })
    client.on('error', () => {})
    test.after(() => client.disconnect())
    const duplicated = test.mock.method(client, 'duplicate')
    const stop = await redisStore({ client }).wakeUps.listen(() => {})
    const subscriber = duplicated.mock.calls[0]!.result!
    const ended = new Promise((resolve) => subscriber.once('end', resolve))
    proxy.cut()
    await new Promise((resolve) => subscriber.once('ready', resolve))
    proxy.cut()
    await stop()

    // A rejection that no code handles ends the process.
    await ended
    await nextTurn()
  })

  it('come to those who listen by redis, since signals may have been missed', async (test) => {
    const { url, restart } = await ownServer()
    const client = createClient({ url, socket: { reconnectStrategy: () => 20 } })
    client.on('error', () => {})
    await client.connect()
    test.after(() => client.destroy())

    await comeBack(redisStore({ client }), restart)
  })
})

describe('the doctor of a redis store', { skip }, () => {
  it('warns of settings that can lose events, and the outbox says so when it starts', async (test) => {
    const { url } = await ownServer('none', { maxmemory: '64mb', 'maxmemory-policy': 'allkeys-lru' })
    const ioredis = new Redis(url)
    const nodeRedis = await createClient({ url }).connect()
    test.after(() => ioredis.disconnect())
    test.after(() => nodeRedis.destroy())
    const { log } = await startOutbox(test, redisStore({ client: ioredis }))

    match(log.join('\n'), /warn: Redis keeps no append-only file/)
    for (const client of [ioredis, nodeRedis]) {
      const [durability, eviction, ...others] = await redisStore({ client }).doctor!(usualDoctorRequest)
      deepEqual(others, [])
      equal(durability!.code, 'DURABILITY_OFF')
      match(durability!.message, /appendonly no/)
      equal(eviction!.code, 'EVICTION_ON')
      match(eviction!.message, /allkeys-lru/)
    }
  })

  it('has nothing to say where every write is on disk and nothing is evicted', async (test) => {
    const { url } = await ownServer()
    const client = new Redis(url)
    test.after(() => client.disconnect())

    const store = redisStore({ client })
    await store.migrate()
    deepEqual(await store.doctor!(usualDoctorRequest), [])
  })

  it('says so where the server does not reveal its settings', async (test) => {
    const { url } = await ownServer()
    const client = new Redis(url)
    test.after(() => client.disconnect())
    await client.acl('SETUSER', 'default', '-config')

    const store = redisStore({ client })
    await store.migrate()
    const [finding] = await store.doctor!(usualDoctorRequest)
    deepEqual([finding!.code, finding!.severity], ['RIGHTS_MISSING', 'info'])
  })
})

class Signals {
  count = 0
  readonly #target = new EventTarget()

  readonly onSignal = () => {
    this.count += 1
    this.#target.dispatchEvent(new Event('signal'))
  }

  async until(count: number): Promise<void> {
    while (this.count < count) await once(this.#target, 'signal')
  }
}

async function announced(store: OutboxStore<any>): Promise<void> {
  const signals = new Signals()
  const stop = await store.wakeUps!.listen(signals.onSignal)
  const seen = signals.count
  await store.transaction((tx) =>
    store.insert({ tx, rows: [sampleRow()], lease: leaseOf('a'), announce: true }),
  )
  await signals.until(seen + 1)
  await stop()
}

async function comeBack(store: OutboxStore<any>, restart: () => Promise<void>): Promise<void> {
  const signals = new Signals()
  const stop = await store.wakeUps!.listen(signals.onSignal)
  const before = signals.count
  await restart()
  await signals.until(before + 1)
  const back = signals.count
  await store.wakeUps!.announce()
  await signals.until(back + 1)
  await stop()
}

async function ownServer(
  persistence: 'everyWrite' | 'none' = 'everyWrite',
  settings: Readonly<Record<string, string>> = {},
) {
  const folder = temporaryFolder('redis')
  const server = await redisServer({ folder: folder.path, persistence, settings })
  servers.push({
    async end() {
      await server.kill()
      folder.remove()
    },
  })
  return { url: server.url, restart: () => server.restart() }
}
