import { deepEqual, equal, ok } from 'node:assert/strict'
import type { CompleteStore, Failure, PurgeRequest } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  doneOf,
  eventIds,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  leaseOf,
  replay,
  settleOne,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const failure: Failure = { error: 'TypeError: no such order', counted: true }

// Far enough apart for a store whose clock cannot be set.
const pastMs = 420
const olderThanMs = 400

export const purgeChecks: readonly PartCheck[] = [
  {
    name: 'purge: DONE rows that were settled longer ago are deleted, and no others',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const written = await insertAndClaim(store, 'a')
      await insertAndSettle(store, { kind: 'done' })
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      await wait(pastMs)
      await settleOne(store, written, { kind: 'done' })
      const fresh = await insertAndSettle(store, { kind: 'done' })

      deepEqual(await purgeAll(store, { doneOlderThanMs: olderThanMs }), { rows: 1, keys: 0 })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([written, dead, fresh]))
    },
  },
  {
    name: 'purge: DEAD rows that were settled longer ago are deleted, and no others',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const written = await insertAndClaim(store, 'a')
      await insertAndSettle(store, { kind: 'dead', failure })
      const done = await insertAndSettle(store, { kind: 'done' })
      await wait(pastMs)
      await settleOne(store, written, { kind: 'dead', failure })
      const fresh = await insertAndSettle(store, { kind: 'dead', failure })

      deepEqual(await purgeAll(store, { deadOlderThanMs: olderThanMs }), { rows: 1, keys: 0 })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([written, done, fresh]))
    },
  },
  {
    name: 'purge: DONE and DEAD rows have separate ages',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      await insertAndSettle(store, { kind: 'done' })
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      await wait(pastMs)
      await purgeAll(store, { doneOlderThanMs: olderThanMs, deadOlderThanMs: 60_000 })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), [dead.eventId])
    },
  },
  {
    name: 'purge: pending rows are never deleted by the age of DONE and DEAD ones',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      await insertPending(store)
      await wait(pastMs)
      const before = await store.people.query({ limit: 10 })

      deepEqual(await purgeAll(store, { doneOlderThanMs: 0, deadOlderThanMs: 0 }), { rows: 0, keys: 0 })
      deepEqual(await store.people.query({ limit: 10 }), before)
    },
  },
  {
    name: 'purge: a replayed row is pending again, and stays',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const row = await insertAndSettle(store, { kind: 'dead', failure })
      await replay(store, [row])
      await wait(20)
      await purgeAll(store, { doneOlderThanMs: 0, deadOlderThanMs: 0 })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), [row.eventId])
    },
  },
  {
    name: 'purge: rows of any state that were written longer ago are deleted if anyOlderThanMs is given',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      await insertPending(store)
      await insertAndSettle(store, { kind: 'done' })
      await insertAndSettle(store, { kind: 'dead', failure })
      const late = await insertAndClaim(store, 'a')
      const count = await store.people.count({})
      await wait(pastMs)
      const fresh = await insertOne(store)

      deepEqual(await purgeAll(store, { anyOlderThanMs: olderThanMs }), { rows: count, keys: 0 })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [fresh.eventId])
      deepEqual(await store.settle({ settlements: [doneOf(late)] }), [doneOf(late)])
    },
  },
  {
    name: 'purge: the history of a row is deleted with it, and that of other rows stays',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const gone = await insertAndSettle(store, { kind: 'done', failure }, { destination: 'billing' })
      const twin = { eventId: gone.eventId, destination: 'shipping' }
      const kept = await insertAndSettle(store, { kind: 'dead', failure }, twin)
      await wait(20)
      await purgeAll(store, { doneOlderThanMs: 10 })

      deepEqual(await store.people.attempts(gone), [])
      equal((await store.people.attempts(kept)).length, 1)
    },
  },
  {
    name: 'purge: a batch deletes no more than the limit, and the cursor leads to the end',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      await settleMany(store, 7)
      await wait(20)
      const request = { doneOlderThanMs: 10, limit: 3 }
      const first = await store.purge(request)
      deepEqual([first.deletedRows, await store.people.count({})], [3, 4])
      ok(first.cursor, 'the first batch cannot be the last')

      const second = await store.purge({ ...request, cursor: first.cursor })
      equal(second.deletedRows, 3)
      const third = await store.purge({ ...request, cursor: second.cursor! })
      deepEqual([third.deletedRows, third.cursor, await store.people.count({})], [1, undefined, 0])
    },
  },
  {
    name: 'purge: rows that are kept do not hide the rows behind them, however many',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      await insertRows(store, sampleRows(10, { due: { inMs: 30_000 } }))
      await settleMany(store, 3)
      await wait(20)

      deepEqual(await purgeAll(store, { doneOlderThanMs: 10, limit: 2 }), { rows: 3, keys: 0 })
      equal(await store.people.count({}), 10)
    },
  },
  {
    name: 'purge: idempotency keys that were used longer ago can be used again, and no others',
    needs: ['purge'],
    async run({ store, wait }) {
      await insertRows(store, [sampleRow({ idempotencyKey: 'old' })])
      await wait(pastMs)
      await insertRows(store, [sampleRow({ idempotencyKey: 'young' })])

      deepEqual(await purgeAll(store, { idempotencyKeysOlderThanMs: olderThanMs }), { rows: 0, keys: 1 })
      const [old, young] = await insertRows(store, [
        sampleRow({ idempotencyKey: 'old' }),
        sampleRow({ idempotencyKey: 'young' }),
      ])
      deepEqual([old!.kind, young!.kind], ['inserted', 'duplicate'])
    },
  },
  {
    name: 'purge: an idempotency key outlives its row unless its own age says otherwise',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const row = await insertAndSettle(store, { kind: 'done' }, { idempotencyKey: 'key' })
      await wait(20)
      deepEqual(await purgeAll(store, { doneOlderThanMs: 10 }), { rows: 1, keys: 0 })

      const [result] = await insertRows(store, [sampleRow({ idempotencyKey: 'key' })])
      deepEqual(result, { kind: 'duplicate', eventId: row.eventId })
    },
  },
  {
    name: 'purge: rows and keys are purged together until both are finished',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const keyed = Array.from({ length: 5 }, (_, index) => sampleRow({ idempotencyKey: `key-${index}` }))
      await insertRows(store, keyed)
      await settleMany(store, 2)
      await wait(20)
      const request = { doneOlderThanMs: 10, idempotencyKeysOlderThanMs: 10 }
      const first = await store.purge({ ...request, limit: 4 })
      equal(first.deletedIdempotencyKeys, 4)

      deepEqual(await purgeAll(store, { ...request, limit: 4 }, first.cursor), {
        rows: 7 - first.deletedRows,
        keys: 1,
      })
      equal(await store.people.count({}), 0)
    },
  },
  {
    name: 'purge: without an age everything is kept, and an empty store has nothing to purge',
    needs: ['people', 'purge'],
    async run({ store, wait }) {
      const nothing = { deletedRows: 0, deletedIdempotencyKeys: 0, cursor: undefined }
      const all = { doneOlderThanMs: 0, deadOlderThanMs: 0, anyOlderThanMs: 0, idempotencyKeysOlderThanMs: 0 }
      deepEqual(await store.purge({ ...all, limit: 10 }), nothing)

      await insertAndSettle(store, { kind: 'done' }, { idempotencyKey: 'key' })
      await insertAndSettle(store, { kind: 'dead', failure })
      await wait(20)
      deepEqual(await store.purge({ limit: 10 }), nothing)
      equal(await store.people.count({}), 2)
    },
  },
]

/** Purges from the beginning, or the cursor, to the end. */
async function purgeAll<Tx>(
  store: CompleteStore<Tx>,
  request: Partial<PurgeRequest>,
  start?: string,
): Promise<{ rows: number; keys: number }> {
  const deleted = { rows: 0, keys: 0 }
  let cursor = start

  for (let batch = 0; batch < 100; batch += 1) {
    const result = await store.purge({ limit: 10, ...request, ...(cursor !== undefined && { cursor }) })
    deleted.rows += result.deletedRows
    deleted.keys += result.deletedIdempotencyKeys
    cursor = result.cursor
    if (cursor === undefined) return deleted
  }
  throw new Error('The purge did not come to an end.')
}

/** Writes one row of every kind that is still to be delivered. */
async function insertPending<Tx>(store: CompleteStore<Tx>): Promise<void> {
  await insertOne(store)
  await insertOne(store, { claimed: true }, leaseOf('a'))
  await insertAndSettle(store, { kind: 'retry', delayMs: 0, failure })
  await insertAndSettle(store, { kind: 'block', failure })
}

/** Writes rows and settles every row that is due. */
async function settleMany<Tx>(store: CompleteStore<Tx>, count: number): Promise<void> {
  await insertRows(store, sampleRows(count))
  const rows = await store.claim({ lease: leaseOf('a'), limit: 1_000 })
  deepEqual(await store.settle({ settlements: rows.map(doneOf) }), [])
}
