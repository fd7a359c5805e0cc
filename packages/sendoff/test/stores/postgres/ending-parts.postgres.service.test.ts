import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { type NewRow, participantLock } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { newStore, processOf, waitingFor, withClient, write } from './test-store.ts'

const vanished = { lock: participantLock('vanished'), token: 'vanished' }
const asker = { lock: participantLock('asker'), token: 'asker' }
const allPartitions = Array.from({ length: 256 }, (_, number) => number)

describe('postgres store: ending the part of somebody', () => {
  it('passes over whoever has a settlement under way, and ends it at the next look', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const partitions = store.partitions
    await store.locks.acquire({ ...vanished, ttlMs: 300 })
    await store.locks.acquire({ ...asker, ttlMs: 60_000 })
    await partitions.acquire({ owner: vanished, partitions: allPartitions })
    await withClient(pool, async (client) => {
      await client.query('begin')
      await client.query(`select 1 from "${schema}".outbox_event_lock where name = $1 for key share`, [
        vanished.lock,
      ])
      while ((await partitions.shares(asker))!.nextEndMs > 0) await delay(20)
      deepEqual((await partitions.shares(asker))!.participants.toSorted(), ['asker', 'vanished'])
      await client.query('commit')
    })

    const shares = (await partitions.shares(asker))!
    deepEqual(shares.participants, ['asker'])
    equal(shares.partitions.filter(({ owner }) => owner !== null).length, 0)
  })

  it('counts what somebody took in hand while the statement that ends it was on its way', async (t) => {
    const { store, pool, newPool, schema } = await newStore(t)
    // The server compiles the dearer statement, and meanwhile it has begun and not looked at locks yet.
    const compiling = ['jit', 'jit_inline', 'jit_optimize'].map((what) => `-c ${what}_above_cost=120`)
    const slow = postgresStore({ client: newPool({ options: compiling.join(' ') }), schema })
    t.after(() => slow.close())
    await store.locks.acquire({ ...asker, ttlMs: 60_000 })

    for (let round = 0; round < 3; round++) {
      const [{ eventId }] = (await write(store, 1, { partitionNo: 1 })) as [NewRow]
      const [row] = await store.people.query({ eventId, limit: 1 })
      const owner = { lock: participantLock(`owner ${round}`), token: `owner ${round}` }
      await store.locks.acquire({ ...vanished, ttlMs: 1 })
      await store.locks.acquire({ ...owner, ttlMs: 150 })
      const ended = slow.partitions.shares(asker)
      await Promise.race([ended, running(pool, schema, 'delete from%returning token, held')])
      await store.partitions.acquire({ owner, partitions: [1] })
      const isHeld = await store.lanes.hold({ owner, rows: [row!] })
      await ended
      while ((await store.partitions.shares(asker))!.participants.length > 1) await delay(5)

      const [left] = await store.people.query({ eventId, limit: 1 })
      if (isHeld) equal(left!.losses, 1, `in round ${round}`)
    }
  })
})

describe('postgres store: taking the lock of somebody', () => {
  it('counts what it read while the statement that takes it was waiting', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const owner = { lock: 'lock', token: 'owner' }
    const next = { lock: 'lock', token: 'next', ttlMs: 60_000 }
    await store.locks.acquire({ ...owner, ttlMs: 1_000 })
    const [row] = await withClient(pool, async (client) => {
      await client.query('begin')
      await client.query(`select 1 from "${schema}".outbox_event_lock for key share`)
      const taken = store.locks.acquire(next)
      await waitingFor(pool, processOf(client))
      await write(store, 1)
      const read = await store.pollPending({ owner, limit: 1, held: null, skipRecentMs: 0 })
      equal(read?.length, 1)
      while (await store.lanes.readAll({ owner, limit: 0 })) await delay(20)
      await client.query('commit')
      equal(await taken, false)
      return read
    })

    equal(await store.locks.acquire(next), true)
    const [left] = await store.people.query({ eventId: row!.eventId, limit: 1 })
    equal(left!.losses, 1)
  })
})

/** Resolves as soon as a statement of a schema is running, and after some time in any case. */
async function running(pool: pg.Pool, schema: string, pattern: string): Promise<void> {
  const text = `select from pg_stat_activity where state = 'active' and query like $1`
  for (let look = 0; look < 1_000; look++) {
    if ((await pool.query(text, [`%"${schema}"%${pattern}%`])).rowCount !== 0) return
  }
}
