import { deepEqual, equal } from 'node:assert/strict'
import type { StoreCheck } from '../store-check.ts'
import {
  claimAll,
  eventIds,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  leaseOf,
  only,
  poll,
  pollOwner,
  readRow,
  storeTime,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const order = 'written'

export const pollOrderChecks: readonly StoreCheck[] = [
  {
    name: 'pollPending: in write order due rows come as they were written, up to the limit',
    async run({ store, wait }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const start = await storeTime(store)
      await wait(50)
      const rows = [30, 10, 40, 20].map((ms) => sampleRow({ due: { at: start + ms } }))
      await insertRows(store, rows)

      deepEqual(eventIds(await poll(store, { order })), eventIds(rows))
      deepEqual(eventIds(await poll(store, { order, limit: 2 })), eventIds(rows.slice(0, 2)))
      deepEqual(await poll(store, { order, limit: 0 }), [])
      deepEqual(eventIds(await poll(store, { order: 'due', limit: 2 })), eventIds([rows[1]!, rows[3]!]))
    },
  },
  {
    name: 'pollPending: in write order from is a place in that order, whatever falls due when',
    async run({ store, wait }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const start = await storeTime(store)
      await wait(50)
      const rows = [10, 30, 20, 5].map((ms) => sampleRow({ due: { at: start + ms } }))
      await insertRows(store, rows)
      const from = await readRow(store, rows[1]!)

      deepEqual(eventIds(await poll(store, { order, from })), eventIds(rows.slice(1)))
      deepEqual(eventIds(await poll(store, { order, from, limit: 2 })), eventIds(rows.slice(1, 3)))
    },
  },
  {
    name: 'pollPending: in write order, too, rows that are delayed, settled, blocked or leased do not come',
    async run({ store }) {
      const failure = { error: 'Error: no', counted: true }
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      await insertOne(store, { due: { inMs: 30_000 } })
      await insertAndSettle(store, { kind: 'done' })
      await insertAndSettle(store, { kind: 'dead', failure })
      await insertAndSettle(store, { kind: 'block', failure })
      await insertAndSettle(store, { kind: 'retry', delayMs: 30_000, failure })
      await insertAndClaim(store, 'b')
      const free = await insertOne(store)
      const [from] = await store.query({ limit: 1 })

      equal(only(await poll(store, { order })).eventId, free.eventId)
      equal(only(await poll(store, { order, from: from!, limit: 1 })).eventId, free.eventId)
      equal(only(await poll(store, { order, from: from!, limit: 2 })).eventId, free.eventId)
    },
  },
  {
    name: 'pollPending: in write order leased rows do not hide those behind them, however many',
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      await insertRows(store, sampleRows(50))
      await claimAll(store, 'b')
      const rows = sampleRows(3)
      await insertRows(store, rows)

      deepEqual(eventIds(await poll(store, { order, limit: 2 })), eventIds(rows.slice(0, 2)))
      deepEqual(eventIds(await poll(store, { order, limit: 5 })), eventIds(rows))
    },
  },
  {
    name: 'pollPending: in write order rows come from behind a place, however far away',
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const first = await insertOne(store)
      await insertRows(store, sampleRows(20, { due: { inMs: 30_000 } }))
      const near = sampleRows(2)
      await insertRows(store, near)
      await insertRows(store, sampleRows(50, { claimed: true }))
      const far = await insertOne(store)

      const from = await readRow(store, near[0]!)
      deepEqual(eventIds(await poll(store, { order, from: first, limit: 2 })), eventIds([first, near[0]!]))
      deepEqual(eventIds(await poll(store, { order, from, limit: 2 })), eventIds(near))
      deepEqual(eventIds(await poll(store, { order, from, limit: 3 })), eventIds([...near, far]))
      deepEqual(eventIds(await poll(store, { order, from: far, limit: 3 })), [far.eventId])
    },
  },
  {
    name: 'pollPending: in write order a row whose lease ran out comes in its place, with its lockedBy',
    async run({ store, wait }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const first = await insertOne(store)
      const lapsed = await insertOne(store, { claimed: true }, leaseOf('b', 50))
      const last = await insertOne(store)
      await wait(60)
      const rows = await poll(store, { order })

      deepEqual(eventIds(rows), eventIds([first, lapsed, last]))
      deepEqual(
        rows.map((row) => row.lockedBy),
        [null, 'b', null],
      )
    },
  },
  {
    name: 'pollPending: in write order, too, skipRecentMs leaves recent rows alone',
    async run({ store, wait }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const old = await insertOne(store)
      await wait(420)
      const recent = await insertOne(store)

      deepEqual(eventIds(await poll(store, { order, skipRecentMs: 400 })), [old.eventId])
      deepEqual(eventIds(await poll(store, { order, skipRecentMs: 400, from: old, limit: 2 })), [old.eventId])
      deepEqual(eventIds(await poll(store, { order })), eventIds([old, recent]))
    },
  },
  {
    name: 'pollPending: what was read in write order counts when the owner vanishes',
    async run({ store, wait }) {
      await insertRows(store, sampleRows(3))
      await store.locks.acquire({ ...pollOwner, ttlMs: 400 })
      await poll(store, { order, limit: 2 })
      await wait(420)
      equal(await store.locks.acquire({ ...pollOwner, token: 'b', ttlMs: 30_000 }), true)

      deepEqual(
        (await store.query({ limit: 10 })).map((row) => row.losses),
        [1, 1, 0],
      )
    },
  },
]
