import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { redis } from '../../../../../test/services/servers/redis/redis.ts'
import { type RedisServer, redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { redisKeyspace } from '../../../src/stores/redis/redis-keyspace.ts'
import { runRedisStoreChecks } from './run-redis-store-checks.ts'
import type { NewRow } from '../../../src/store/index.ts'
import {
  doneOf,
  eventIds,
  insertRows,
  leaseOf,
  only,
  pollOwner,
  readRow,
} from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const waitingForMail = isFull ? 100_000 : 10_000
// Where the address of one is given, there need not be another.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('redis store with several destinations', { skip }, () => {
  const folder = temporaryFolder('redis')
  let server: RedisServer
  let client: Redis
  let prefixes = 0
  before(async () => {
    server = await redisServer({ folder: folder.path, persistence: 'none' })
    client = new Redis(server.url)
  })
  after(async () => {
    client.disconnect()
    await server.kill()
    folder.remove()
  })

  for (const healthy of ['kafka', '']) {
    it(`a claim for "${healthy}" costs the same however many due rows of another one wait`, async (test) => {
      const { store } = newStore()
      await write(store, 'mail', 50)
      const first = await costOfClaim(store, healthy)
      await write(store, 'mail', waitingForMail)
      const second = await costOfClaim(store, healthy)

      test.diagnostic(
        `calls and µs of Redis with 50 rows that wait: ${shown(first)}, with ${waitingForMail}: ${shown(second)}`,
      )
      equal(second.calls, first.calls)
      ok(second.calls < 25, `${second.calls} calls`)
    })
  }

  it('a poll for a destination costs the same however many rows of another one wait', async () => {
    const { store } = newStore()
    await store.locks.acquire({ ...pollOwner, ttlMs: 600_000 })
    const cost = async () => {
      const request = { owner: pollOwner, limit: 10, held: null, destination: 'kafka' }
      await insertRows(store, sampleRows(1, { destination: 'kafka' }))
      await store.pollPending(request)
      await store.pollPending(request)
      const start = await commandCalls()
      equal((await store.pollPending(request))!.length, 1)
      const calls = (await commandCalls()) - start
      const rows = await store.pollPending(request)
      await store.settle({ settlements: rows!.map(doneOf), owner: pollOwner })
      return calls
    }
    await write(store, 'mail', 50)
    const first = await cost()
    await write(store, 'mail', 5_000)
    equal(await cost(), first)
  })

  it('an outbox with one destination sorts nothing', async () => {
    const { store, keys } = newStore()
    await insertRows(store, sampleRows(20))
    await store.claim({ lease: leaseOf('a'), limit: 10, destination: '' })
    await store.claimTypes({ lease: leaseOf('a'), limit: 5, window: 10, destination: '' })
    equal(await client.exists(named(keys, 'sorted')), 0)
    equal(await client.hexists(named(keys, 'meta'), 'destinations'), 0)
  })

  it('rows of all destinations come in due order to who asks for any', async () => {
    const { store } = newStore()
    const rows = await mixed(store, 3_000)
    const wanted = eventIds(rows)
    await store.locks.acquire({ ...pollOwner, ttlMs: 60_000 })
    const polled = await store.pollPending({ owner: pollOwner, limit: 5_000, held: null })
    deepEqual(eventIds(polled!), wanted)

    const claimed = []
    for (let batch = 0; batch < 5; batch++) {
      claimed.push(...(await store.claim({ lease: leaseOf('a'), limit: 700 })))
    }
    deepEqual(eventIds(claimed), wanted)
  })

  it('a claim of types for any destination reads each part, and goes on where it stopped', async () => {
    const { store } = newStore()
    const rows = await mixed(store, 300)
    const claimed: string[] = []
    let from
    do {
      const request = { lease: leaseOf('a'), limit: 20, window: 30, ...(from && { from }) }
      const answer: Awaited<ReturnType<typeof store.claimTypes>> = await store.claimTypes(request)
      claimed.push(...eventIds(answer.rows))
      from = answer.next
    } while (from !== undefined)
    deepEqual(claimed.sort(), eventIds(rows).sort())
  })

  it('sorted rows are paused, cancelled, purged, settled and handed back like others', async () => {
    const { store, keys } = newStore()
    const destination = 'mail'
    const rows = sampleRows(6, { destination })
    await insertRows(store, [...rows, sampleRow({ destination, eventType: 'Paid' })])
    await sort(store)
    const sorted = () => client.zcard(named(keys, 'sorted'))
    equal(await sorted(), 7)
    await store.controls.pause({ eventType: 'Paid' })
    const claim = (limit: number) => store.claim({ lease: leaseOf('a', 60_000), limit, destination })
    const held = await claim(2)
    const audit = { actor: 'Ann', action: 'cancel' }
    const [, , third, fourth] = rows
    deepEqual((await store.actions.run({ action: 'cancel', rows: [third!], audit })).kind, 'ran')
    await store.release(held.slice(0, 1))
    await store.settle({ settlements: held.slice(1).map(doneOf) })
    const again = await claim(10)
    deepEqual(eventIds(again), [held[0]!.eventId, fourth!.eventId, ...eventIds(rows.slice(4))])
    await store.settle({ settlements: again.map((row) => ({ row, outcome: { kind: 'delete' } })) })
    equal(await sorted(), 0)
    await store.controls.resume({ eventType: 'Paid' })
    equal(only(await claim(10)).eventType, 'Paid')
  })

  it('a takeover counts losses of the sorted rows of its destination', async () => {
    const { store } = newStore()
    const [kafka, mail] = [sampleRow({ destination: 'kafka' }), sampleRow({ destination: 'mail' })]
    await insertRows(store, [kafka, mail])
    await sort(store)
    const lock = { ...pollOwner, destination: 'kafka' }
    await store.locks.acquire({ ...lock, ttlMs: 60_000 })
    const request = { owner: pollOwner, limit: 10, held: null, destination: 'kafka' }
    equal((await store.pollPending(request))!.length, 1)
    await store.locks.renew({ ...pollOwner, ttlMs: 1 })
    await new Promise((resolve) => setTimeout(resolve, 10))
    ok(await store.locks.acquire({ ...lock, token: 'b', ttlMs: 60_000 }))
    deepEqual([(await readRow(store, kafka)).losses, (await readRow(store, mail)).losses], [1, 0])
  })

  it('the oldest due row is found among sorted ones', async () => {
    const { store } = newStore()
    const [mail] = await mixed(store, 2)
    await sort(store)
    const { oldestDue } = await store.looks.tally({ bound: 100 })
    equal(oldestDue?.eventId, mail!.eventId)
  })

  it('more destinations than there are parts share the last one', async () => {
    const { store } = newStore()
    const rows = Array.from({ length: 1_100 }, (_, index) => sampleRow({ destination: `d${index}` }))
    await insertRows(store, rows)
    await sort(store)
    for (const row of rows.slice(1_000)) {
      const { destination } = row
      const found = await store.claim({ lease: leaseOf('a'), limit: 10, destination })
      deepEqual(eventIds(found), [row.eventId])
    }
  })

  type Store = ReturnType<typeof newStore>['store']

  function newStore() {
    const prefix = `destinations-${++prefixes}`
    return { store: redisStore({ client, prefix }), keys: redisKeyspace(prefix) }
  }

  async function write(store: Store, destination: string, count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1_000) {
      await insertRows(store, sampleRows(Math.min(left, 1_000), { destination }))
    }
  }

  /** Writes rows for three destinations in turns. */
  async function mixed(store: Store, count: number): Promise<readonly NewRow[]> {
    const destinations = ['mail', '', 'kafka']
    const rows = Array.from({ length: count }, (_, index) =>
      sampleRow({ destination: destinations[index % 3]! }),
    )
    await insertRows(store, rows)
    return rows
  }

  /** The first claim passes over rows of others. The next one sorts them. */
  async function sort(store: Store): Promise<void> {
    for (let claim = 0; claim < 2; claim++) {
      await store.claim({ lease: leaseOf('a'), limit: 10, destination: 'none' })
    }
  }

  /** What one claim costs as soon as earlier ones have sorted the rows that were written before. */
  async function costOfClaim(store: Store, destination: string): Promise<{ calls: number; us: number }> {
    const costs = []
    for (let round = 0; round < 20; round++) {
      await insertRows(store, sampleRows(1, { destination }))
      await sort(store)
      await client.config('RESETSTAT')
      equal((await store.claim({ lease: leaseOf('a'), limit: 100, destination })).length, 1)
      costs.push({ calls: await commandCalls(), us: await scriptTime() })
    }
    equal(new Set(costs.map(({ calls }) => calls)).size, 1)
    return costs.sort((a, b) => a.us - b.us)[10]!
  }

  /** How many commands the server has run; those that scripts have called are among them. */
  async function commandCalls(): Promise<number> {
    const counted = (await client.info('commandstats')).matchAll(/cmdstat_(?!info|config)\S+:calls=(\d+)/g)
    return Array.from(counted, ([, calls]) => Number(calls)).reduce((sum, calls) => sum + calls, 0)
  }

  /** The time of the server in scripts, in microseconds. */
  async function scriptTime(): Promise<number> {
    const [, us] = /cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await client.info('commandstats')) ?? []
    return Number(us)
  }
})

// With several destinations, the promises hold on another set of due rows.
if (isFull) {
  const client = new Redis(process.env['REDIS_URL']!)
  after(() => client.quit())
  const openSorting = (prefix: string) => {
    const store = redisStore({ client, prefix: `sorting-${prefix}` })
    const migrate = async () => {
      await store.migrate()
      await client.hsetnx(`{sorting-${prefix}}:meta`, 'destinations', '{"":0}')
    }
    return { ...store, migrate }
  }
  const setField = (key: string, field: string, value: string) =>
    client.hset(key.replace('{', '{sorting-'), field, value)
  runRedisStoreChecks('redis store that sorts its due rows', openSorting, setField)
}

function named(keys: readonly string[], name: string): string {
  return keys.find((key) => key.endsWith(`:${name}`))!
}

function shown({ calls, us }: { calls: number; us: number }): string {
  return `${calls}, ${us}`
}
