import { deepEqual, equal, ok } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { CompleteStore, Row } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimAll,
  claimOne,
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  leaseOf,
  only,
  readRow,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

export const claimChecks: readonly PartCheck[] = [
  {
    name: 'claim: due rows come oldest due time first, then in write order',
    needs: ['people'],
    async run({ store, wait }) {
      const start = await storeTime(store)
      await wait(50)
      const late = sampleRow({ due: { at: start + 30 } })
      const early = sampleRow({ due: { at: start + 10 } })
      const twin = sampleRow({ due: { at: start + 10 } })
      const middle = sampleRow({ due: { at: start + 20 } })
      await insertRows(store, [late, early, twin, middle])

      deepEqual(eventIds(await claimAll(store, 'a')), eventIds([early, twin, middle, late]))
    },
  },
  {
    name: 'claim: a claim returns no more rows than the limit, the first ones first',
    async run({ store }) {
      const rows = sampleRows(5)
      await insertRows(store, rows)

      deepEqual(await store.claim({ lease: leaseOf('a'), limit: 0 }), [])
      deepEqual(eventIds(await store.claim({ lease: leaseOf('a'), limit: 3 })), eventIds(rows.slice(0, 3)))
      deepEqual(eventIds(await store.claim({ lease: leaseOf('a'), limit: 3 })), eventIds(rows.slice(3)))
    },
  },
  {
    name: 'claim: a claimed row is leased, and returned as it is stored',
    needs: ['people'],
    async run({ store }) {
      await insertOne(store)
      const claimed = await claimOne(store, 'a')
      const { status, doneAt, lastError, lockedUntil, blockedAt, ...stored } = await readRow(store, claimed)

      equal(stored.lockedBy, 'a')
      equal(stored.deliveries, 1)
      equal(stored.losses, 0)
      deepEqual({ ...claimed }, stored)
      deepEqual([status, doneAt, lastError, blockedAt], [EventStatus.NEW, null, null, null])
      ok(lockedUntil! > stored.createdAt)
    },
  },
  {
    name: 'claim: no other process can claim a leased row, nor can its holder again',
    async run({ store }) {
      await insertAndClaim(store, 'a')

      deepEqual(await claimAll(store, 'b'), [])
      deepEqual(await claimAll(store, 'a'), [])
    },
  },
  {
    name: 'claim: a row is free again once its lease has run out',
    needs: ['people'],
    async run({ store, wait }) {
      const row = await insertOne(store)
      await claimOne(store, 'a', 50)
      await wait(60)

      equal((await claimOne(store, 'b')).eventId, row.eventId)
      equal((await readRow(store, row)).lockedBy, 'b')
    },
  },
  {
    name: 'claim: deliveries rises with every claim, and losses with every holder that never released the row',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const counted: [number, number][] = []
      for (const owner of ['a', 'b', 'b', 'c']) {
        const { deliveries, losses } = await claimOne(store, owner, 50)
        counted.push([deliveries, losses])
        await wait(60)
      }

      deepEqual(counted, [
        [1, 0],
        [2, 1],
        [3, 2],
        [4, 3],
      ])
    },
  },
  {
    name: 'claim: a row that was settled or released counts no loss',
    needs: ['people'],
    async run({ store }) {
      await insertOne(store)
      await settleOne(store, await claimOne(store, 'a'), { kind: 'defer', delayMs: 0 })
      const deferred = await claimOne(store, 'a')
      await store.release([deferred])
      const released = await claimOne(store, 'b')

      deepEqual([deferred.deliveries, deferred.losses], [3, 0])
      deepEqual([released.deliveries, released.losses], [4, 0])
    },
  },
  {
    name: 'claim: a delayed row is not claimed before its due time',
    async run({ store, wait }) {
      const soon = sampleRow({ due: { inMs: 1_000 } })
      await insertRows(store, [soon, sampleRow({ due: { inMs: 30_000 } })])
      deepEqual(await claimAll(store, 'a'), [])
      await wait(1_010)

      deepEqual(eventIds(await claimAll(store, 'a')), [soon.eventId])
    },
  },
  {
    name: 'claim: done, dead and blocked rows are not claimed, and retried ones are',
    async run({ store }) {
      const failure = { error: 'Error: no', counted: true }
      await settleOne(store, await insertAndClaim(store, 'a'), { kind: 'done' })
      await settleOne(store, await insertAndClaim(store, 'a'), { kind: 'dead', failure })
      await settleOne(store, await insertAndClaim(store, 'a'), { kind: 'block', failure })
      const retried = await insertAndClaim(store, 'a')
      await settleOne(store, retried, { kind: 'retry', delayMs: 0, failure })

      deepEqual(eventIds(await claimAll(store, 'a')), [retried.eventId])
    },
  },
  {
    name: 'claim: with keys only those rows are claimed, if they exist and are due',
    needs: ['people'],
    async run({ store }) {
      const wanted = await insertOne(store)
      const delayed = await insertOne(store, { due: { inMs: 30_000 } })
      const done = await insertAndClaim(store, 'a')
      await settleOne(store, done, { kind: 'done' })
      await insertOne(store)
      const keys = [wanted, delayed, done, { eventId: 'missing', destination: '' }]

      deepEqual(eventIds(await store.claim({ lease: leaseOf('a'), limit: 10, rows: keys })), [wanted.eventId])
      deepEqual(await store.claim({ lease: leaseOf('a'), limit: 10, rows: [] }), [])
    },
  },
  {
    name: 'claim: a key names one destination of an event, not all of them',
    async run({ store }) {
      const row = sampleRow({ destination: 'billing' })
      await insertRows(store, [row, { ...row, destination: 'shipping' }])
      const keys = [{ eventId: row.eventId, destination: 'shipping' }]

      equal(only(await store.claim({ lease: leaseOf('a'), limit: 10, rows: keys })).destination, 'shipping')
    },
  },
  {
    name: 'claim: keys include rows already leased by the claimer, without a loss',
    async run({ store, wait }) {
      const born = sampleRow({ claimed: true })
      const lapsed = sampleRow({ claimed: true })
      await insertRows(store, [born], leaseOf('a'))
      await insertRows(store, [lapsed], leaseOf('a', 50))
      await wait(60)
      const rows = await store.claim({ lease: leaseOf('a'), limit: 10, rows: [born, lapsed] })

      deepEqual(eventIds(rows).sort(), eventIds([born, lapsed]).sort())
      deepEqual(rows.map(countersOf), [
        [2, 0],
        [2, 0],
      ])
    },
  },
  {
    name: 'claim: a row that is named as unchanged is claimed only while its fence and its holder are the same',
    async run({ store }) {
      const { eventId, destination, ...row } = sampleRow({ claimed: true })
      await insertRows(store, [{ eventId, destination, ...row }], leaseOf('a'))
      const claim = (deliveries: number, lockedBy: string | null) =>
        store.claim({
          lease: leaseOf('a'),
          limit: 10,
          rows: [{ eventId, destination, unchanged: { deliveries, lockedBy } }],
        })

      deepEqual(await claim(0, 'a'), [])
      deepEqual(await claim(1, null), [])
      const claimed = only(await claim(1, 'a'))
      deepEqual(countersOf(claimed), [2, 0])
      deepEqual(await claim(1, 'a'), [], 'the same claim takes it once')
      await store.release([claimed])
      deepEqual(await claim(2, 'a'), [], 'its holder has released it')
      deepEqual(countersOf(only(await claim(2, null))), [3, 0])
    },
  },
  {
    name: 'claim: keys include no row that another process holds, and count a loss if its lease has run out',
    async run({ store, wait }) {
      const held = sampleRow({ claimed: true })
      const lapsed = sampleRow({ claimed: true })
      await insertRows(store, [held], leaseOf('b'))
      await insertRows(store, [lapsed], leaseOf('b', 50))
      await wait(60)
      const row = only(await store.claim({ lease: leaseOf('a'), limit: 10, rows: [held, lapsed] }))

      equal(row.eventId, lapsed.eventId)
      deepEqual(countersOf(row), [2, 1])
    },
  },
  {
    name: 'claim: with from only rows at or behind that place in due order are claimed',
    needs: ['people'],
    async run({ store, wait }) {
      const start = await storeTime(store)
      await wait(50)
      const last = sampleRow({ due: { at: start + 30 } })
      const first = sampleRow({ due: { at: start + 10 } })
      const before = sampleRow({ due: { at: start + 20 } })
      const place = sampleRow({ due: { at: start + 20 } })
      await insertRows(store, [last, first, before, place])
      const from = await readRow(store, place)

      deepEqual(
        eventIds(await store.claim({ lease: leaseOf('a'), limit: 10, from })),
        eventIds([place, last]),
      )
    },
  },
  {
    name: 'claim: skipRecentMs skips rows that were written less than that many milliseconds ago',
    async run({ store, wait }) {
      const row = await insertAndClaim(store, 'a')
      const request = { lease: leaseOf('a'), limit: 10 }
      await wait(60)
      await settleOne(store, row, { kind: 'defer', delayMs: 0 })

      deepEqual(await store.claim({ ...request, skipRecentMs: 60_000 }), [])
      deepEqual(eventIds(await store.claim({ ...request, skipRecentMs: 50 })), [row.eventId])
    },
  },
  {
    name: 'claim: concurrent claimers never get the same row',
    async run({ store }) {
      const rows = sampleRows(100)
      await insertRows(store, rows)
      const claimed = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => claimInSevens(store, owner)))

      deepEqual(eventIds(claimed.flat()).sort(), eventIds(rows).sort())
    },
  },
  {
    name: 'claim: claimers in two processes never get the same row',
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const rows = sampleRows(100)
      await insertRows(store, rows)
      const claimed = await Promise.all([claimInSevens(store, 'a'), claimInSevens(other, 'b')])

      deepEqual(eventIds(claimed.flat()).sort(), eventIds(rows).sort())
    },
  },
]

function countersOf(row: Row): [deliveries: number, losses: number] {
  return [row.deliveries, row.losses]
}

/** Claims until a claim returns nothing, or until it got more rows than exist. */
async function claimInSevens<Tx>(store: CompleteStore<Tx>, owner: string): Promise<Row[]> {
  const claimed: Row[] = []
  while (claimed.length <= 100) {
    const rows = await store.claim({ lease: leaseOf(owner), limit: 7 })
    if (rows.length === 0) break
    claimed.push(...rows)
  }
  return claimed
}
