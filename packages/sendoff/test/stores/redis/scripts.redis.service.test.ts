import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { redis } from '../../../../../test/services/servers/redis/redis.ts'
import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { ioredisDriver } from '../../../src/stores/redis/drivers/ioredis-driver.ts'
import { type InsertCommand, insertCommands } from '../../../src/stores/redis/insert-rows.ts'
import { memberOf, redisKeyspace } from '../../../src/stores/redis/redis-keyspace.ts'
import { insertScript } from '../../../src/stores/redis/scripts/insert-script.ts'
import { resumeScript } from '../../../src/stores/redis/scripts/upkeep-scripts.ts'
import {
  claimAll,
  doneOf,
  eventIds,
  insertRows,
  leaseOf,
  pollOwner,
} from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const client = new Redis(process.env['REDIS_URL']!)
const driver = ioredisDriver(client)
after(() => client.quit())
let prefixes = 0

function newStore() {
  const prefix = `scripts-${process.pid}-${++prefixes}`
  return { store: redisStore({ client, prefix }), keys: redisKeyspace(prefix), prefix }
}

// Where the address of one is given, there need not be another.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('scripts of a redis store', () => {
  it('a write that a client sends again, because it missed the answer, is answered as before', async () => {
    const { store, keys } = newStore()
    const rows = [sampleRow(), sampleRow({ idempotencyKey: 'key', claimed: true })]
    const inserts = [{ rows, lease: leaseOf('a'), announce: false, results: undefined }]
    const [{ values }] = insertCommands(inserts, 'none') as [InsertCommand]
    const first = await driver.run(insertScript, keys, values)

    deepEqual(await driver.run(insertScript, keys, values), first)
    deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds(rows))
    await rejects(insertRows(store, [rows[0]!]), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
  })

  it('a check of what is stored says that nothing is, and stores nothing', async () => {
    const { store, keys } = newStore()
    await rejects(store.checkSchema(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /store\.migrate\(\)/ })
    equal(await client.exists(...keys), 0)
    await store.migrate()
    await store.checkSchema()
  })

  it('numbers go on from the clock, so that none is given twice after the last ones were forgotten', async () => {
    const { store, keys } = newStore()
    const [lost] = await insertRows(store, [sampleRow()])
    await client.del(...keys)
    const [next] = await insertRows(store, [sampleRow()])

    ok(lost?.kind === 'inserted' && next?.kind === 'inserted' && next.seq > lost.seq)
  })

  it('thousands of paused rows are set aside once, and come back when they are resumed', async () => {
    const { store, keys } = newStore()
    const paused = sampleRows(6_000, { eventType: 'Paid' })
    await insertRows(store, paused)
    const free = sampleRows(3)
    await insertRows(store, free)
    await store.controls.pause({ eventType: 'Paid' })
    const claimed = await store.claim({ lease: leaseOf('a'), limit: 10 })
    deepEqual(eventIds(claimed), eventIds(free))
    equal(await client.zcard(keyNamed(keys, 'due')), 0)

    await store.controls.resume({ eventType: 'Paid' })
    const all = await store.claim({ lease: leaseOf('a'), limit: 10_000 })
    deepEqual(eventIds(all), eventIds(paused))
  })

  it('claims bring back what was set aside where whoever resumed it has vanished', async () => {
    const { store, keys } = newStore()
    await insertRows(store, sampleRows(2_000, { eventType: 'Paid' }))
    await store.controls.pause({ eventType: 'Paid' })
    deepEqual(await claimAll(store, 'a'), [])
    equal(await driver.run(resumeScript, keys, ['type:Paid']), 1)

    let count = 0
    for (let batch = 0; batch < 10; batch++) {
      count += (await store.claim({ lease: leaseOf('a'), limit: 500 })).length
    }
    equal(count, 2_000)
  })

  it('recent rows, however many, do not hide older ones behind them', async () => {
    const { store, keys } = newStore()
    await store.locks.acquire({ ...pollOwner, ttlMs: 60_000 })
    await insertRows(store, sampleRows(6_000))
    const old = sampleRow()
    const [written] = await insertRows(store, [old])
    ok(written?.kind === 'inserted')
    await client.eval(writeLongAgo, 1, keyNamed(keys, 'state'), memberOf(written.seq))
    const request = { skipRecentMs: 600_000, limit: 10 }

    const polled = await store.pollPending({ ...request, owner: pollOwner, held: null })
    deepEqual(eventIds(polled!), [old.eventId])
    deepEqual(eventIds(await store.claim({ ...request, lease: leaseOf('a') })), [old.eventId])
  })

  it('the work of a claim and of a settlement does not grow with what is kept', { skip }, async (test) => {
    const folder = temporaryFolder('redis')
    const server = await redisServer({ folder: folder.path, persistence: 'none' })
    const alone = new Redis(server.url)
    test.after(async () => {
      alone.disconnect()
      await server.kill()
      folder.remove()
    })
    const store = redisStore({ client: alone })
    const drained = async () => {
      await insertRows(store, sampleRows(100))
      const before = await commandCalls(alone)
      const rows = await store.claim({ lease: leaseOf('a'), limit: 100 })
      await store.settle({ settlements: rows.map(doneOf) })
      return (await commandCalls(alone)) - before
    }
    await drained()
    const first = await drained()
    for (let round = 0; round < 20; round++) await drained()

    equal(await drained(), first)
    ok(first < 60, `${first} calls for a hundred rows`)
  })

  it('what only a newer version can read is refused', async () => {
    const { store, keys } = newStore()
    await store.migrate()
    await client.hset(keyNamed(keys, 'meta'), 'revision', '7')
    await store.migrate()
    await store.checkSchema()
    deepEqual(await client.hmget(keyNamed(keys, 'meta'), 'version', 'revision', 'oldest_code'), [
      '1',
      '7',
      '1',
    ])

    await client.hset(keyNamed(keys, 'meta'), 'oldest_code', '6', 'made_by', '9.1.0')
    const refused = {
      code: 'OUTBOX_SCHEMA_TOO_NEW',
      message: /before revision 6.*Deploy sendoff 9\.1\.0 here/,
    }
    await rejects(store.migrate(), refused)
    await rejects(store.checkSchema(), refused)
  })

  it('a prefix that is no hash tag is refused, and so is what is no client', () => {
    for (const prefix of ['', 'a{b', 'a b', 'x'.repeat(101), 7]) {
      throws(() => redisStore({ client, prefix: prefix as string }), { code: 'OUTBOX_INVALID_OPTION' })
    }
    for (const none of [undefined, null, {}, 'redis://localhost']) {
      throws(() => redisStore({ client: none as never }), { code: 'OUTBOX_INVALID_OPTION' })
    }
  })

  it('outboxes of different prefixes have nothing to do with each other', async () => {
    const [one, other] = [newStore().store, newStore().store]
    await insertRows(one, sampleRows(2))

    deepEqual(await claimAll(other, 'a'), [])
    equal((await claimAll(one, 'a')).length, 2)
  })
})

// Puts the sixth field of a state, the time of the write, an hour back.
const writeLongAgo = `
  local fields = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
  fields[6] = fields[6] - 3600000
  redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(fields))`

function keyNamed(keys: readonly string[], name: string): string {
  return keys.find((key) => key.endsWith(`:${name}`))!
}

/** How many commands the server has run; those that scripts have called are among them. */
async function commandCalls(client: Redis): Promise<number> {
  const counted = (await client.info('commandstats')).matchAll(/:calls=(\d+)/g)
  return Array.from(counted, ([, calls]) => Number(calls)).reduce((sum, calls) => sum + calls, 0)
}
