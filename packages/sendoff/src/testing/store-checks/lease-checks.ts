import { deepEqual, equal } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimAll,
  claimOne,
  doneOf,
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  leaseOf,
  readRow,
  settleOne,
} from './check-steps.ts'
import { sampleRows } from './sample-rows.ts'

export const leaseChecks: readonly PartCheck[] = [
  {
    name: 'renew: a renewed row stays leased beyond its first lease',
    async run({ store, wait }) {
      await insertRows(store, sampleRows(3))
      const rows = await claimAll(store, 'a', 400)
      deepEqual(await store.renew({ rows, lease: leaseOf('a') }), [])
      await wait(420)

      deepEqual(await claimAll(store, 'b'), [])
    },
  },
  {
    name: 'renew: only the lease changes, so that the holder can still settle',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      const before = await readRow(store, row)
      await store.renew({ rows: [row], lease: leaseOf('a', 60_000) })
      const after = await readRow(store, row)

      deepEqual({ ...after, lockedUntil: before.lockedUntil }, { ...before })
      await settleOne(store, row, { kind: 'done' })
    },
  },
  {
    name: 'renew: a row that lapsed but which no process claimed since is leased anew',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const row = await claimOne(store, 'a', 50)
      await wait(60)

      deepEqual(await store.renew({ rows: [row], lease: leaseOf('a') }), [])
      deepEqual(await claimAll(store, 'b'), [])
    },
  },
  {
    name: 'renew: returns rows that were taken over, settled, deleted or released meanwhile',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const taken = await claimOne(store, 'a', 50)
      await wait(60)
      await claimOne(store, 'b')
      const settled = await insertAndClaim(store, 'a')
      const deleted = await insertAndClaim(store, 'a')
      const released = await insertAndClaim(store, 'a')
      const kept = await insertAndClaim(store, 'a')
      await settleOne(store, settled, { kind: 'done' })
      await settleOne(store, deleted, { kind: 'delete' })
      await store.release([released])

      const lost = await store.renew({ rows: [taken, kept, settled, deleted, released], lease: leaseOf('a') })
      deepEqual(eventIds(lost).sort(), eventIds([taken, settled, deleted, released]).sort())
    },
  },
  {
    name: 'renew: an empty list of rows is no error',
    async run({ store }) {
      deepEqual(await store.renew({ rows: [], lease: leaseOf('a') }), [])
    },
  },
  {
    name: 'release: a released row is free at once',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await store.release([row])

      const released = await readRow(store, row)
      deepEqual([released.lockedBy, released.lockedUntil, released.deliveries], [null, null, 1])
      equal(released.status, EventStatus.NEW)
      equal((await claimOne(store, 'b')).deliveries, 2)
    },
  },
  {
    name: 'release: the losses of a row stay as they were',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      await store.claim({ lease: leaseOf('vanished', 50), limit: 1 })
      await wait(60)
      const row = await claimOne(store, 'a')
      await store.release([row])

      equal(row.losses, 1)
      equal((await readRow(store, row)).losses, 1)
    },
  },
  {
    name: 'release: a row born claimed can be handed back',
    needs: ['people'],
    async run({ store }) {
      const row = await insertOne(store, { claimed: true }, leaseOf('a'))
      await store.release([row])
      const next = await claimOne(store, 'b')

      deepEqual([next.eventId, next.deliveries, next.losses], [row.eventId, 2, 0])
    },
  },
  {
    name: 'release: a row lost to another holder is left alone',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const late = await claimOne(store, 'a', 50)
      await wait(60)
      const current = await claimOne(store, 'b')
      const before = await readRow(store, current)
      await store.release([late])

      deepEqual(await readRow(store, current), before)
    },
  },
  {
    name: 'release: a row that was settled, or released before, is left alone',
    needs: ['people'],
    async run({ store }) {
      const settled = await insertAndClaim(store, 'a')
      const released = await insertAndClaim(store, 'a')
      await settleOne(store, settled, { kind: 'done' })
      await store.release([released])
      const before = await store.people.query({ limit: 10 })
      await store.release([settled, released])

      deepEqual(await store.people.query({ limit: 10 }), before)
    },
  },
  {
    name: 'release: the process that released a row can no longer settle it',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await store.release([row])

      deepEqual(await store.settle({ settlements: [doneOf(row)] }), [doneOf(row)])
      equal((await readRow(store, row)).status, EventStatus.NEW)
    },
  },
  {
    name: 'release: an empty list of rows is no error',
    async run({ store }) {
      await store.release([])
    },
  },
]
