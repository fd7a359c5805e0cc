import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { inProcesses } from '../child-processes.ts'
import {
  claim,
  lease,
  newSchema,
  newStore,
  processOf,
  settleDone,
  waitingFor,
  withClient,
  write,
} from './test-store.ts'

const script = new URL('postgres-process.ts', import.meta.url)

describe('postgres store: many processes', () => {
  it('that claim at the same time never get the same row, and leave none', async (t) => {
    const { store, schema } = await newStore(t)
    const rows = await write(store, 1_000)
    const claimed = await inProcesses<string[]>(script, 3, 'claim', schema)

    deepEqual(claimed.flat().sort(), rows.map((row) => row.eventId).sort())
  })

  it('that migrate at the same time do it once', async (t) => {
    const { schema, pool } = await newSchema(t)
    await inProcesses(script, 8, 'migrate', schema)
    const store = postgresStore({ client: pool, schema })
    await write(store, 1)

    equal((await claim(store)).length, 1)
  })

  it('that settle, renew and release the same rows at the same time never wait in a circle', async (t) => {
    const { store, pool } = await newStore(t)
    const deadlocks = watchFor(pool, '40P01')
    for (let round = 0; round < 20; round += 1) {
      await write(store, 60)
      const rows = await claim(store, 60)
      const shuffled = [...rows].reverse()
      await Promise.all([
        store.renew({ rows: shuffled, lease }),
        settleDone(store, rows.slice(0, 40)),
        store.renew({ rows, lease }),
        store.release(shuffled.slice(0, 20)),
        store.renew({ rows: shuffled, lease }),
      ])
    }

    equal(await store.people.count({ status: [1] }), 800)
    equal(deadlocks.count, 0)
  })

  it('a settlement is not refused because the lease was renewed at the same moment', async (t) => {
    const { store, pool } = await newStore(t)
    const deadlocks = watchFor(pool, '40P01')
    await write(store, 300)
    for (let round = 0; round < 30; round += 1) {
      const rows = await claim(store, 10)
      await Promise.all([store.renew({ rows, lease }), settleDone(store, rows), store.renew({ rows, lease })])
    }

    equal(await store.people.count({ status: [1] }), 300)
    equal(deadlocks.count, 0)
  })

  it('a takeover waits for settlements of the last owner, so that nobody reads what they are about', async (t) => {
    const { store, pool, table } = await newStore(t)
    const owner = { lock: 'relay', token: 'last' }
    await write(store, 2)
    await store.locks.acquire({ ...owner, ttlMs: 1_000 })
    const rows = await store.pollPending({ owner, limit: 10, held: null })
    // Without bounds there is nothing but the row of the lock that a takeover could wait for.
    await store.pollPending({ owner, limit: 0, held: null })
    await withClient(pool, async (other) => {
      await other.query(`begin; select from ${table} where event_id = '${rows![1]!.eventId}' for update`)
      const settled = store.settle({
        settlements: rows!.map((row) => ({ row, outcome: { kind: 'done' } })),
        owner,
      })
      const settling = await waitingFor(pool, processOf(other))
      const taken = acquireSoon(() => store.locks.acquire({ ...owner, token: 'next', ttlMs: 30_000 }))
      await waitingFor(pool, settling)
      await other.query('rollback')

      deepEqual(await settled, [])
      equal(await taken, true)
    })
    deepEqual(
      (await store.people.query({ limit: 10 })).map((row) => [row.status, row.losses]),
      [
        [1, 0],
        [1, 0],
      ],
    )
  })

  it('a takeover and a settlement of the last owner never both count', async (t) => {
    const { store } = await newStore(t)
    for (let round = 0; round < 20; round += 1) {
      const owner = { lock: 'relay', token: `owner-${round}` }
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await write(store, 5)
      const rows = await store.pollPending({ owner, limit: 100, held: null })
      await store.locks.acquire({ ...owner, ttlMs: 1 })
      const [refused, taken] = await Promise.all([
        store.settle({ settlements: rows!.map((row) => ({ row, outcome: { kind: 'done' } })), owner }),
        acquireSoon(() => store.locks.acquire({ ...owner, token: 'successor', ttlMs: 30_000 })),
      ])
      await store.locks.release({ ...owner, token: 'successor' })

      ok(taken)
      const left = await store.people.query({ status: [0], limit: 100 })
      equal(left.length, refused.length)
      ok(left.every((row) => row.losses === 1))
      await settleDone(store, await claim(store))
    }
  })
})

/** Counts statements that fail with this code, also those that the store then repeats. */
function watchFor(pool: pg.Pool, code: string): { count: number } {
  const seen = { count: 0 }
  const query = pool.query.bind(pool) as (...parameters: unknown[]) => Promise<unknown>
  const watched = async (...parameters: unknown[]) => {
    try {
      return await query(...parameters)
    } catch (error) {
      if ((error as { code?: unknown }).code === code) seen.count += 1
      throw error
    }
  }
  pool.query = watched as typeof pool.query
  return seen
}

async function acquireSoon(acquire: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 100_000; attempt += 1) if (await acquire()) return true
  return false
}
