import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import type { Row } from '../../../src/store/index.ts'
import { newStore, processOf, waitingFor, withClient, write } from './test-store.ts'

const owner = { lock: 'relay', token: 'me' }
const few = { owner, limit: 50, held: null }

describe('postgres store: polls of an owner', () => {
  it('a poll for few rows reads them and records them in one statement', async (t) => {
    const { store, pool } = await newStore(t)
    await store.locks.acquire({ ...owner, ttlMs: 30_000 })
    const written = await write(store, 3)
    const statements = countStatements(pool)

    deepEqual(idsOf(await store.pollPending(few)), idsOf(written))
    equal(statements.count, 1)
  })

  it('a poll for many rows sends them as it reads them, and records them with a second statement', async (t) => {
    const { store, pool } = await newStore(t)
    await store.locks.acquire({ ...owner, ttlMs: 30_000 })
    const written = await write(store, 3)
    const statements = countStatements(pool)

    deepEqual(idsOf(await store.pollPending({ ...few, limit: 500 })), idsOf(written))
    equal(statements.count, 2)
  })

  it('records what the owner held before and what it has read, as a poll for many rows does', async (t) => {
    const { store, pool, schema } = await newStore(t)
    await store.locks.acquire({ ...owner, ttlMs: 30_000 })
    await write(store, 5)
    const rows = (await store.pollPending({ ...few, limit: 500 }))!
    const places = rows.map(({ availableAt, seq }) => ({ availableAt, seq }))
    const bounds = async (limit: number, low: number, high: number, from: number) => {
      const held = { low: places[low]!, high: places[high]! }
      await store.pollPending({ ...few, limit, held, from: places[from]! })
      const { rows: locks } = await pool.query(
        `select low_at, low_seq, high_at, high_seq from "${schema}".outbox_event_lock where name = 'relay'`,
      )
      return locks[0] as unknown
    }
    for (const [low, high, from] of [
      [0, 0, 3],
      [1, 2, 2],
      [3, 3, 0],
    ] as const) {
      const byMany = await bounds(500, low, high, from)
      await store.pollPending({ ...few, limit: 0 })
      deepEqual(await bounds(50, low, high, from), byMany)
    }
  })

  for (const limit of [50, 500]) {
    it(`a poll for ${limit} rows returns nothing if another process takes the lock while it records`, async (t) => {
      const { store, pool, schema } = await newStore(t)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await write(store, 1)
      await withClient(pool, async (other) => {
        await other.query(
          `begin; update "${schema}".outbox_event_lock set token = 'next' where name = 'relay'`,
        )
        const poll = store.pollPending({ ...few, limit })
        await waitingFor(pool, processOf(other))
        await other.query('commit')

        equal(await poll, undefined)
      })
      deepEqual(await boundsOf(pool, schema), { low_at: null, low_seq: null })
    })

    it(`a poll for ${limit} rows returns them if the owner itself records others meanwhile`, async (t) => {
      const { store, pool, schema } = await newStore(t)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const [row] = await write(store, 1)
      const lowSeq = (await store.people.query({ limit: 1 }))[0]!.seq
      await withClient(pool, async (other) => {
        await other.query(
          `begin; update "${schema}".outbox_event_lock
                     set low_at = available_at, low_seq = seq, high_at = available_at, high_seq = seq
                    from "${schema}".outbox_event where name = 'relay'`,
        )
        const poll = store.pollPending({ ...few, limit })
        await waitingFor(pool, processOf(other))
        await other.query('commit')

        deepEqual(idsOf(await poll), [row!.eventId])
      })
      equal((await boundsOf(pool, schema)).low_seq, String(lowSeq))
    })
  }
})

function idsOf(rows: readonly Pick<Row, 'eventId'>[] | undefined): string[] | undefined {
  return rows?.map(({ eventId }) => eventId)
}

async function boundsOf(pool: pg.Pool, schema: string): Promise<{ low_at: unknown; low_seq: unknown }> {
  const { rows } = await pool.query(`select low_at, low_seq from "${schema}".outbox_event_lock`)
  return rows[0]
}

/** Counts the statements that clients of the pool run from now on. */
function countStatements(pool: pg.Pool): { readonly count: number } {
  const statements = { count: 0 }
  pool.on('acquire', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    client.query = ((...given: unknown[]) => {
      statements.count += 1
      return query(...given)
    }) as never
    pool.once('release', () => (client.query = query as never))
  })
  return statements
}
