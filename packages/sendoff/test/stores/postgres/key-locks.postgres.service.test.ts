import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import type { KeyLocks } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'
import { lease, newStore, type PgStore, processOf, waitingFor, withClient } from './test-store.ts'

const x = { orderingKey: 'x', partitionNo: 0x2d }

describe('postgres store: locks on keys', () => {
  it('without them what is written later can be committed first, and be read before', async (t) => {
    const { store } = await newStore(t)
    const [first, second] = [sampleRow(x), sampleRow(x)]
    await store.transaction(async (tx) => {
      await store.insert({ tx, rows: [first], lease })
      await store.transaction((other) => store.insert({ tx: other, rows: [second], lease }))
      deepEqual(await pendingIds(store), [second.eventId])
    })

    deepEqual(await pendingIds(store), [first.eventId, second.eventId])
  })

  it('with them whoever writes later waits for the commit', async (t) => {
    const { store, pool } = await newStore(t)
    const [first, second] = [sampleRow(x), sampleRow(x)]
    let later: Promise<void> | undefined
    await store.transaction(async (tx) => {
      await store.lanes.lock({ tx, keys: ['x'] })
      await store.insert({ tx, rows: [first], lease })
      later = store.transaction(async (other) => {
        await store.lanes.lock({ tx: other, keys: ['x'] })
        await store.insert({ tx: other, rows: [second], lease })
      })
      await waitingFor(pool, processOf(tx))
      deepEqual(await pendingIds(store), [])
    })
    await later

    deepEqual(await pendingIds(store), [first.eventId, second.eventId])
  })

  it('of the same keys in whatever order never wait in a circle', async (t) => {
    const { store } = await newStore(t)
    const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
    const orders = [keys, keys.toReversed(), [...keys.slice(20), ...keys.slice(0, 20)]]

    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        orders.map((order) => store.transaction((tx) => store.lanes.lock({ tx, keys: order }))),
      )
    }
  })

  it('of one table are not those of another', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const other = postgresStore({ client: pool, schema, table: 'other_event' })
    t.after(() => other.close())
    await store.transaction(async (tx) => {
      for (const keys of [['x'], { partitions: [1] }, 'all'] as const) {
        await store.lanes.lock({ tx, keys })
        await other.transaction((another) => other.lanes.lock({ tx: another, keys }))
      }
    })
  })

  it('can be had by many keys at once', async (t) => {
    const { store } = await newStore(t)
    const keys = Array.from({ length: 2_000 }, (_, index) => `key-${index}`)
    await store.transaction(async (tx) => {
      await store.lanes.lock({ tx, keys })
      equal(await lockCount(tx), 2_000 + 256)
    })
  })

  for (const [mode, locks, held] of [
    ['partitioned', 2, ['x']],
    ['partitioned', 2, { partitions: [x.partitionNo] }],
    ['ordered', 1, 'all'],
  ] as const) {
    it(`the function that writes waits for ${JSON.stringify(held)} in ${mode} mode`, async (t) => {
      const place = await newStore(t)
      const { store, pool } = place
      await joinAs(store, mode)
      const row = sampleRow(x)
      let later: Promise<number> | undefined
      await store.transaction(async (tx) => {
        await store.lanes.lock({ tx, keys: held })
        later = writeWithKey(place, 'x')
        await waitingFor(pool, processOf(tx))
        await store.insert({ tx, rows: [row], lease })
      })

      equal(await later, locks)
      equal((await pendingIds(store))[0], row.eventId)
    })
  }

  it('the function that writes waits for nobody else, and for nobody in other modes', async (t) => {
    const place = await newStore(t)
    const { store } = place
    await store.transaction(async (tx) => {
      for (const keys of [['x'], 'all'] as readonly KeyLocks[]) await store.lanes.lock({ tx, keys })

      equal(await writeWithKey(place, 'x'), 0)
      await joinAs(store, 'multiNode')
      equal(await writeWithKey(place, 'x'), 0)
      await joinAs(store, 'partitioned')
      equal(await writeWithKey(place, 'y'), 2)
      equal(await writeWithKey(place, null), 0)
    })
  })
})

async function joinAs(store: PgStore, mode: string): Promise<void> {
  equal((await store.nodes.join({ id: 'node', mode, ttlMs: 30_000 })).kind, 'joined')
}

/** Answers how many locks it took. */
function writeWithKey(
  { pool, schema }: { pool: pg.Pool; schema: string },
  key: string | null,
): Promise<number> {
  return withClient(pool, async (client) => {
    await client.query('begin')
    await client.query(`select "${schema}".outbox_event_write('OrderPlaced', '1', ordering_key => $1)`, [key])
    const locks = await lockCount(client)
    await client.query('commit')
    return locks
  })
}

async function lockCount(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::integer from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  )
  return rows[0]!.count
}

async function pendingIds(store: PgStore): Promise<string[]> {
  return (await store.people.query({ limit: 10 })).map(({ eventId }) => eventId)
}
