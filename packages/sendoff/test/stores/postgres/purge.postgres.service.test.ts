import { deepEqual, equal } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { monotonicUlids } from '../../../src/event/ulid.ts'
import type { PurgeRequest } from '../../../src/store/index.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'
import { claim, lease, newStore, type PgStore, settleDone, withClient, write } from './test-store.ts'

const dayMs = 86_400_000

describe('postgres store: purge', () => {
  it('ends at the first batch of ULIDs whose rows are all too young', async (t) => {
    const { store, pool, table } = await newStore(t)
    await doneRows(store, ulidsAt(Date.now() - 10 * dayMs, 4))
    await pool.query(
      `update ${table} set created_at = created_at - interval '10 days', done_at = done_at - interval '10 days'`,
    )
    await doneRows(store, ulidsAt(Date.now(), 20))

    deepEqual(await purged(store, { doneOlderThanMs: dayMs, limit: 2 }), [2, 2, 0, 0])
    equal(await store.people.count({}), 20)
  })

  it('finds old rows behind young ULIDs and UUIDs, whatever their ids are', async (t) => {
    const { store, pool, table } = await newStore(t)
    const old = [
      '0',
      'order-1',
      'z',
      randomUUID(),
      uuidAt(Date.now() - 10 * dayMs),
      ...ulidsAt(Date.now() - 10 * dayMs, 1),
    ]
    await doneRows(store, old)
    await pool.query(
      `update ${table} set created_at = created_at - interval '10 days', done_at = done_at - interval '10 days'`,
    )
    const young = [...ulidsAt(Date.now(), 9), ...Array.from({ length: 9 }, () => uuidAt(Date.now()))]
    await doneRows(store, young)
    const deleted = await purged(store, { doneOlderThanMs: dayMs, limit: 3 })

    equal(sum(deleted), old.length)
    equal(await store.people.count({}), young.length)
  })

  it('leaves rows alone that somebody works on, and takes them the next time', async (t) => {
    const { store, pool, table } = await newStore(t)
    await doneRows(store, ['a', 'b', 'c'])
    await withClient(pool, async (client) => {
      await client.query(`begin; select from ${table} where event_id = 'b' for update`)
      equal(sum(await purged(store, { doneOlderThanMs: 0, limit: 10 })), 2)
      await client.query('rollback')
    })

    equal(sum(await purged(store, { doneOlderThanMs: 0, limit: 10 })), 1)
  })

  it('a row that was marked DONE by hand, without a time, counts from its beginning', async (t) => {
    const { store, pool, table } = await newStore(t)
    await write(store, 2)
    await pool.query(
      `update ${table} set status = case seq % 2 when 0 then 1 else 3 end, created_at = created_at - interval '1 s'`,
    )

    deepEqual(await purged(store, { doneOlderThanMs: 60_000, deadOlderThanMs: 60_000, limit: 10 }), [0])
    deepEqual(await purged(store, { doneOlderThanMs: 500, deadOlderThanMs: 500, limit: 10 }), [2])
  })
})

async function doneRows(store: PgStore, ids: readonly string[]): Promise<void> {
  const rows = ids.map((eventId) => sampleRow({ eventId }))
  await store.transaction((tx) => store.insert({ tx, rows, lease }))
  await settleDone(store, await claim(store))
}

/** How many rows each batch deleted. */
async function purged(store: PgStore, request: PurgeRequest): Promise<number[]> {
  const deleted: number[] = []
  let cursor: string | undefined
  do {
    const result = await store.purge({ ...request, ...(cursor !== undefined && { cursor }) })
    deleted.push(result.deletedRows)
    cursor = result.cursor
  } while (cursor !== undefined && deleted.length < 50)
  return deleted
}

function ulidsAt(time: number, count: number): string[] {
  return Array.from(
    { length: count },
    monotonicUlids(() => time),
  )
}

function uuidAt(time: number): string {
  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(15)}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
