import { deepEqual, equal } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { CompleteStore, NewRow, RowFilter, StoredRow } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { eventIds, insertAndClaim, insertAndSettle, insertRows, settleOne } from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

export const queryChecks: readonly PartCheck[] = [
  {
    name: 'query: rows come in write order, whenever they are due',
    needs: ['people'],
    async run({ store }) {
      const rows = [
        sampleRow({ due: { inMs: 30_000 } }),
        sampleRow({ claimed: true }),
        sampleRow({ due: { inMs: 10_000 } }),
        sampleRow(),
      ]
      await insertRows(store, rows)

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds(rows))
    },
  },
  {
    name: 'query: no more rows come than the limit, and afterSeq continues behind the last one',
    needs: ['people'],
    async run({ store }) {
      const rows = sampleRows(5)
      await insertRows(store, rows)
      const page = await store.people.query({ limit: 3 })
      const next = await store.people.query({ limit: 3, afterSeq: page[2]!.seq })

      deepEqual(eventIds(page), eventIds(rows.slice(0, 3)))
      deepEqual(eventIds(next), eventIds(rows.slice(3)))
      deepEqual(await store.people.query({ limit: 3, afterSeq: next[1]!.seq }), [])
    },
  },
  {
    name: 'query: a filter by status finds rows in any of the named states',
    needs: ['people'],
    async run({ store }) {
      const { fresh, done, retried, dead } = await oneOfEachStatus(store)

      await finds(store, { status: [EventStatus.NEW] }, [fresh])
      await finds(store, { status: [EventStatus.DONE] }, [done])
      await finds(store, { status: [EventStatus.DEAD] }, [dead])
      await finds(store, { status: [EventStatus.NEW, EventStatus.RETRY] }, [fresh, retried])
      await finds(store, {}, [fresh, done, retried, dead])
    },
  },
  {
    name: 'query: a list of event ids finds all rows of these events, whatever their states',
    needs: ['people'],
    async run({ store }) {
      const { fresh, done, retried, dead } = await oneOfEachStatus(store)
      const fanned = ['', 'a', 'b'].map((destination) => sampleRow({ eventId: 'fanned', destination }))
      await insertRows(store, fanned)
      const wanted = [done.eventId, 'fanned', fresh.eventId, dead.eventId, 'unknown', 'fanned']

      const found = await store.people.query({ eventIds: wanted, limit: 10 })
      deepEqual(eventIds(found), eventIds([fresh, done, dead, ...fanned]))
      deepEqual(await store.people.query({ eventIds: [], limit: 10 }), [])
      deepEqual(
        eventIds(
          await store.people.query({ eventIds: [dead.eventId, retried.eventId], status: [3], limit: 10 }),
        ),
        [dead.eventId],
      )
    },
  },
  {
    name: 'query: a filter by event type or aggregate type finds exact matches only',
    needs: ['people'],
    async run({ store }) {
      const placed = sampleRow({ eventType: 'OrderPlaced', aggregateType: 'Order' })
      const lower = sampleRow({ eventType: 'orderplaced', aggregateType: 'order' })
      const longer = sampleRow({ eventType: 'OrderPlacedTwice', aggregateType: 'OrderLine' })
      await insertRows(store, [placed, lower, longer])

      await finds(store, { eventType: 'OrderPlaced' }, [placed])
      await finds(store, { eventType: 'Order%' }, [])
      await finds(store, { aggregateType: 'Order' }, [placed])
      await finds(store, { aggregateType: 'order' }, [lower])
    },
  },
  {
    name: 'query: a filter by aggregate id or tenant finds exact matches only, and no row without one',
    needs: ['people'],
    async run({ store }) {
      const ours = sampleRow({ aggregateId: 'order-7', tenantId: 'north' })
      const theirs = sampleRow({ aggregateId: 'order-7', tenantId: 'South' })
      const longer = sampleRow({ aggregateId: 'order-77', tenantId: 'northwest' })
      const neither = sampleRow({ aggregateId: null, tenantId: null })
      await insertRows(store, [ours, theirs, longer, neither])

      await finds(store, { aggregateId: 'order-7' }, [ours, theirs])
      await finds(store, { aggregateId: 'ORDER-7' }, [])
      await finds(store, { tenantId: 'north' }, [ours])
      await finds(store, { aggregateId: 'order-7', tenantId: 'South' }, [theirs])
    },
  },
  {
    name: 'query: dead rows are found in write order, page by page, by every part of a filter',
    needs: ['people'],
    async run({ store }) {
      const failure = { error: 'Error: no', counted: true }
      const status = [EventStatus.DEAD]
      const die = (fields: Partial<NewRow>) => insertAndSettle(store, { kind: 'dead', failure }, fields)
      const paid = await die({ eventType: 'Paid', aggregateType: 'Invoice', aggregateId: 'a' })
      await insertAndSettle(store, { kind: 'done' }, { eventType: 'Placed', tenantId: 'north' })
      const north = await die({ eventType: 'Placed', tenantId: 'north' })
      const billing = await die({ eventType: 'Placed', destination: 'billing' })
      await insertRows(store, sampleRows(2, { eventType: 'Placed' }))

      deepEqual(await store.people.query({ status, limit: 2 }), [paid, north])
      deepEqual(await store.people.query({ status, limit: 1, afterSeq: north.seq }), [billing])
      await finds(store, { status, eventType: 'Placed' }, [north, billing])
      await finds(store, { status, aggregateType: 'Invoice' }, [paid])
      await finds(store, { status, aggregateId: 'a' }, [paid])
      await finds(store, { status, tenantId: 'north' }, [north])
      await finds(store, { status, destination: 'billing' }, [billing])
      await finds(store, { status, destination: '' }, [paid, north])
      await finds(store, { status, eventId: billing.eventId }, [billing])
      await finds(store, { status, eventType: 'Shipped' }, [])
    },
  },
  {
    name: 'query: a filter by event id finds the rows of all its destinations',
    needs: ['people'],
    async run({ store }) {
      const billing = sampleRow({ destination: 'billing' })
      const shipping = { ...billing, destination: 'shipping' }
      await insertRows(store, [billing, sampleRow(), shipping])

      await finds(store, { eventId: billing.eventId }, [billing, shipping])
      await finds(store, { eventId: 'missing' }, [])
    },
  },
  {
    name: 'query: all parts of a filter have to match',
    needs: ['people'],
    async run({ store }) {
      const wanted = sampleRow({ eventType: 'Paid', aggregateType: 'Order' })
      const otherAggregate = sampleRow({ eventType: 'Paid', aggregateType: 'Invoice' })
      const otherType = sampleRow({ eventType: 'Placed', aggregateType: 'Order' })
      await insertRows(store, [wanted, otherAggregate, otherType])
      const done = await insertAndClaim(store, 'a', { eventType: 'Paid', aggregateType: 'Order' })
      await settleOne(store, done, { kind: 'done' })

      const filter = { eventType: 'Paid', aggregateType: 'Order' }
      await finds(store, { ...filter, status: [EventStatus.NEW] }, [wanted])
      await finds(store, filter, [wanted, done])
      await finds(store, { ...filter, eventId: otherType.eventId }, [])
    },
  },
]

/** Returns the rows that a filter finds, in write order. Fails unless the count agrees. */
async function finds<Tx>(
  store: CompleteStore<Tx>,
  filter: Omit<RowFilter, 'limit' | 'eventIds'>,
  rows: readonly (NewRow | Pick<StoredRow, 'eventId' | 'destination'>)[],
): Promise<void> {
  const found = await store.people.query({ ...filter, limit: 10 })

  deepEqual(
    found.map((row) => [row.eventId, row.destination]),
    rows.map((row) => [row.eventId, row.destination]),
  )
  equal(await store.people.count(filter), rows.length)
}

async function oneOfEachStatus<Tx>(store: CompleteStore<Tx>) {
  const failure = { error: 'Error: no', counted: true }
  const fresh = sampleRow({ due: { inMs: 30_000 } })
  await insertRows(store, [fresh])
  const done = await insertAndClaim(store, 'a')
  await settleOne(store, done, { kind: 'done' })
  const retried = await insertAndClaim(store, 'a')
  await settleOne(store, retried, { kind: 'retry', delayMs: 0, failure })
  const dead = await insertAndClaim(store, 'a')
  await settleOne(store, dead, { kind: 'dead', failure })
  return { fresh, done, retried, dead }
}
