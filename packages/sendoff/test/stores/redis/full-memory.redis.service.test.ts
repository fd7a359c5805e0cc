import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { redis } from '../../../../../test/services/servers/redis/redis.ts'
import { redisServer } from '../../../../../test/services/servers/redis/redis-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import {
  doneOf,
  insertRows,
  leaseOf,
  poll,
  pollOwner,
  replay,
} from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await redis.find()) && 'Redis itself is not on this machine'

describe('a redis store whose server has no memory left', { skip }, () => {
  it('refuses to write, and delivers what is there', async (test) => {
    const folder = temporaryFolder('redis')
    const server = await redisServer({ folder: folder.path, persistence: 'none' })
    const client = new Redis(server.url)
    test.after(async () => {
      client.disconnect()
      await server.kill()
      folder.remove()
    })
    const store = redisStore({ client })
    const failure = { error: 'Error: no', counted: true }
    await insertRows(store, sampleRows(20))
    await client.config('SET', 'maxmemory', '1mb')
    await rejects(insertRows(store, [sampleRow()]), /OOM/)
    equal(await store.people.count({}), 20)

    const [first, second, third, ...others] = await store.claim({ lease: leaseOf('a'), limit: 10 })
    deepEqual(await store.renew({ rows: others, lease: leaseOf('a') }), [])
    await store.release(others)
    deepEqual(await store.settle({ settlements: [doneOf(first!)] }), [])
    deepEqual(
      await store.settle({
        settlements: [{ row: second!, outcome: { kind: 'retry', delayMs: 0, failure } }],
      }),
      [],
    )
    deepEqual(await store.settle({ settlements: [{ row: third!, outcome: { kind: 'dead', failure } }] }), [])
    equal(await replay(store, [third!]), 1)
    await store.controls.pause({ eventType: 'Paid' })
    await store.controls.resume({ eventType: 'Paid' })
    equal((await store.nodes.join({ id: 'a', mode: 'singleNode', ttlMs: 30_000 })).kind, 'joined')

    ok(await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 }))
    ok(await store.locks.renew({ ...pollOwner, ttlMs: 30_000 }))
    const rows = await poll(store, { limit: 100 })
    equal(rows.length, 19)
    deepEqual(await store.settle({ settlements: rows.map(doneOf), owner: pollOwner }), [])
  })
})
