import { deepEqual, equal } from 'node:assert/strict'
import type { CompleteStore, PauseTarget } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimAll,
  claimOne,
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  leaseOf,
  poll,
  pollOwner,
  readRow,
  settleOne,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

export const controlChecks: readonly PartCheck[] = [
  {
    name: 'controls: rows of a paused event type are not claimed until it is resumed',
    needs: ['people', 'controls'],
    async run({ store }) {
      const paused = await insertOne(store, { eventType: 'Paid' })
      const other = await insertOne(store, { eventType: 'paid' })
      await store.controls.pause({ eventType: 'Paid' })
      deepEqual(eventIds(await claimAll(store, 'a')), [other.eventId])
      deepEqual(await readRow(store, paused), paused)

      await store.controls.resume({ eventType: 'Paid' })
      deepEqual(eventIds(await claimAll(store, 'a')), [paused.eventId])
    },
  },
  {
    name: 'controls: rows for a paused destination are not claimed until it is resumed',
    needs: ['controls'],
    async run({ store }) {
      const billing = sampleRow({ destination: 'billing' })
      const shipping = { ...billing, destination: 'shipping' }
      await insertRows(store, [billing, shipping])
      await store.controls.pause({ destination: 'billing' })
      equal((await claimOne(store, 'a')).destination, 'shipping')

      await store.controls.resume({ destination: 'billing' })
      equal((await claimOne(store, 'a')).destination, 'billing')
    },
  },
  {
    name: 'controls: paused rows are not claimed by key either, nor again by their holder',
    needs: ['people', 'controls'],
    async run({ store }) {
      const free = await insertOne(store, { eventType: 'Paid' })
      const held = await insertAndClaim(store, 'a', { destination: 'billing' })
      const request = { lease: leaseOf('a'), limit: 10, rows: [free, held] }
      await pauseAll(store, [{ eventType: 'Paid' }, { destination: 'billing' }])
      deepEqual(await store.claim(request), [])

      await store.controls.resume({ eventType: 'Paid' })
      await store.controls.resume({ destination: 'billing' })
      equal((await store.claim(request)).length, 2)
    },
  },
  {
    name: 'controls: paused rows are not read without a claim',
    needs: ['people', 'controls'],
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      const from = await insertOne(store, { eventType: 'Paid' })
      await insertOne(store, { destination: 'billing' })
      const other = await insertOne(store)
      await pauseAll(store, [{ eventType: 'Paid' }, { destination: 'billing' }])

      deepEqual(eventIds(await poll(store)), [other.eventId])
      deepEqual(eventIds(await poll(store, { from, limit: 1 })), [other.eventId])
      await store.controls.resume({ eventType: 'Paid' })
      equal((await poll(store)).length, 2)
    },
  },
  {
    name: 'controls: paused rows do not hide the rows behind them',
    needs: ['controls'],
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      await insertRows(store, sampleRows(50, { eventType: 'Paid' }))
      const rows = sampleRows(3)
      await insertRows(store, rows)
      await store.controls.pause({ eventType: 'Paid' })

      deepEqual(eventIds(await poll(store, { limit: 2 })), eventIds(rows.slice(0, 2)))
      deepEqual(eventIds(await store.claim({ lease: leaseOf('a'), limit: 2 })), eventIds(rows.slice(0, 2)))
    },
  },
  {
    name: 'controls: a process that holds a row which is paused meanwhile can still renew, release and settle it',
    needs: ['people', 'controls'],
    async run({ store }) {
      const settled = await insertAndClaim(store, 'a')
      const released = await insertAndClaim(store, 'a')
      await store.controls.pause({ eventType: settled.eventType })

      deepEqual(await store.renew({ rows: [settled, released], lease: leaseOf('a') }), [])
      await store.release([released])
      await settleOne(store, settled, { kind: 'done' })
      equal((await readRow(store, released)).lockedBy, null)
      deepEqual(await claimAll(store, 'b'), [])
    },
  },
  {
    name: 'controls: rows written while their type is paused wait, too',
    needs: ['people', 'controls'],
    async run({ store }) {
      await store.controls.pause({ eventType: 'Paid' })
      const row = await insertOne(store, { eventType: 'Paid' })
      deepEqual(await claimAll(store, 'a'), [])

      await store.controls.resume({ eventType: 'Paid' })
      equal((await claimOne(store, 'a')).eventId, row.eventId)
    },
  },
  {
    name: 'controls: an event type and a destination of the same name are different things',
    needs: ['controls'],
    async run({ store }) {
      const type = sampleRow({ eventType: 'billing' })
      const destination = sampleRow({ destination: 'billing' })
      await insertRows(store, [type, destination])
      await store.controls.pause({ eventType: 'billing' })
      await store.controls.resume({ destination: 'billing' })

      deepEqual(await store.controls.paused(), [{ eventType: 'billing' }])
      equal((await claimOne(store, 'a')).eventId, destination.eventId)
    },
  },
  {
    name: 'controls: paused returns each paused target once',
    needs: ['controls'],
    async run({ store }) {
      deepEqual(await store.controls.paused(), [])
      const targets = [{ destination: 'billing' }, { eventType: 'Paid' }, { eventType: 'Placed' }]
      await pauseAll(store, [...targets, ...targets])
      deepEqual(sorted(await store.controls.paused()), sorted(targets))

      await store.controls.resume({ eventType: 'Paid' })
      deepEqual(
        sorted(await store.controls.paused()),
        sorted([{ destination: 'billing' }, { eventType: 'Placed' }]),
      )
    },
  },
  {
    name: 'controls: pausing twice needs one resume, and resuming an unpaused target is no error',
    needs: ['controls'],
    async run({ store }) {
      await store.controls.resume({ eventType: 'Paid' })
      await pauseAll(store, [{ eventType: 'Paid' }, { eventType: 'Paid' }])
      await store.controls.resume({ eventType: 'Paid' })

      deepEqual(await store.controls.paused(), [])
    },
  },
  {
    name: 'controls: a pause set in one process applies in another at once',
    needs: ['people', 'controls'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      await insertOne(store, { eventType: 'Paid' })
      await insertOne(store, { eventType: 'Paid' })
      equal((await other.claim({ lease: leaseOf('b'), limit: 1 })).length, 1)

      await store.controls.pause({ eventType: 'Paid' })
      deepEqual(await claimAll(other, 'b'), [])
      deepEqual(await other.controls.paused(), [{ eventType: 'Paid' }])

      await other.controls.resume({ eventType: 'Paid' })
      equal((await claimAll(store, 'a')).length, 1)
    },
  },
]

async function pauseAll<Tx>(store: CompleteStore<Tx>, targets: readonly PauseTarget[]): Promise<void> {
  for (const target of targets) await store.controls.pause(target)
}

// The store chooses their order.
function sorted(targets: readonly PauseTarget[]): string[] {
  return targets.map((target) => JSON.stringify(target)).sort()
}
