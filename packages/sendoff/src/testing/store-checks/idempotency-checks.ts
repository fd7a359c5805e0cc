import { deepEqual, equal, rejects } from 'node:assert/strict'
import type { PartCheck } from '../store-check.ts'
import {
  afterCommit,
  claimOne,
  eventIds,
  insertAndClaim,
  insertRows,
  leaseOf,
  settleOne,
  Undo,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const key = 'place-order-1'

export const idempotencyChecks: readonly PartCheck[] = [
  {
    name: 'idempotency: a key used before adds no row, and the result names the event that used it',
    needs: ['people'],
    async run({ store }) {
      const first = sampleRow({ idempotencyKey: key })
      const [inserted] = await insertRows(store, [first])
      const [duplicate] = await insertRows(store, [sampleRow({ idempotencyKey: key, claimed: true })])

      equal(inserted!.kind, 'inserted')
      deepEqual(duplicate, { kind: 'duplicate', eventId: first.eventId })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [first.eventId])
      equal((await claimOne(store, 'a')).deliveries, 1)
    },
  },
  {
    name: 'idempotency: rows without a key are never duplicates',
    needs: ['people'],
    async run({ store }) {
      await insertRows(store, sampleRows(2))
      await insertRows(store, sampleRows(2))

      equal(await store.people.count({}), 4)
    },
  },
  {
    name: 'idempotency: different keys in one batch add their rows',
    needs: ['people'],
    async run({ store }) {
      const rows = [sampleRow({ idempotencyKey: 'one' }), sampleRow({ idempotencyKey: 'two' })]
      const results = await insertRows(store, rows)

      deepEqual(
        results.map((result) => result.kind),
        ['inserted', 'inserted'],
      )
      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds(rows))
    },
  },
  {
    name: 'idempotency: the same key twice in one batch adds the first row only',
    needs: ['people'],
    async run({ store }) {
      const first = sampleRow({ idempotencyKey: key })
      const results = await insertRows(store, [first, sampleRow({ idempotencyKey: key })])

      equal(results[0]!.kind, 'inserted')
      deepEqual(results[1], { kind: 'duplicate', eventId: first.eventId })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [first.eventId])
    },
  },
  {
    name: 'idempotency: the same key twice in one transaction adds the first row only',
    needs: ['people'],
    async run({ store }) {
      const first = sampleRow({ idempotencyKey: key })
      const results = await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [first], lease: leaseOf('writer') })
        return store.insert({ tx, rows: [sampleRow({ idempotencyKey: key })], lease: leaseOf('writer') })
      })

      deepEqual(afterCommit(results), [{ kind: 'duplicate', eventId: first.eventId }])
      equal(await store.people.count({}), 1)
    },
  },
  {
    name: 'idempotency: results come in the order of the rows, duplicates among them',
    needs: ['people'],
    async run({ store }) {
      const first = sampleRow({ idempotencyKey: key })
      await insertRows(store, [first])
      const before = sampleRow()
      const after = sampleRow({ idempotencyKey: 'another' })
      const results = await insertRows(store, [before, sampleRow({ idempotencyKey: key }), after])
      const [, storedBefore, storedAfter] = await store.people.query({ limit: 10 })

      deepEqual(results, [
        { kind: 'inserted', seq: storedBefore!.seq, deliveries: 0, certain: true },
        { kind: 'duplicate', eventId: first.eventId },
        { kind: 'inserted', seq: storedAfter!.seq, deliveries: 0, certain: true },
      ])
      deepEqual(eventIds([storedBefore!, storedAfter!]), eventIds([before, after]))
    },
  },
  {
    name: 'idempotency: a key that was rolled back can be used again',
    needs: ['people'],
    async run({ store }) {
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow({ idempotencyKey: key })], lease: leaseOf('writer') })
        throw new Undo()
      })
      await rejects(undone, Undo)
      const [result] = await insertRows(store, [sampleRow({ idempotencyKey: key })])

      equal(result!.kind, 'inserted')
      equal(await store.people.count({}), 1)
    },
  },
  {
    name: 'idempotency: a key undone with a nested transaction can be used in the outer one',
    needs: ['people'],
    async run({ store }) {
      const kept = sampleRow({ idempotencyKey: key })
      const results = await store.transaction(async (tx) => {
        const undone = store.transaction(
          async (inner) => {
            await store.insert({
              tx: inner,
              rows: [sampleRow({ idempotencyKey: key })],
              lease: leaseOf('writer'),
            })
            throw new Undo()
          },
          { within: tx },
        )
        await rejects(undone, Undo)
        return store.insert({ tx, rows: [kept], lease: leaseOf('writer') })
      })

      equal(afterCommit(results)[0]!.kind, 'inserted')
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [kept.eventId])
    },
  },
  {
    name: 'idempotency: a key stays used when its event is done, and when its row was removed',
    async run({ store }) {
      const done = await insertAndClaim(store, 'a', { idempotencyKey: 'done' })
      const removed = await insertAndClaim(store, 'a', { idempotencyKey: 'removed' })
      await settleOne(store, done, { kind: 'done' })
      await settleOne(store, removed, { kind: 'delete' })

      deepEqual(
        await insertRows(store, [
          sampleRow({ idempotencyKey: 'done' }),
          sampleRow({ idempotencyKey: 'removed' }),
        ]),
        [
          { kind: 'duplicate', eventId: done.eventId },
          { kind: 'duplicate', eventId: removed.eventId },
        ],
      )
    },
  },
  {
    name: 'idempotency: keys that differ only in case, accent or a trailing space are different keys',
    async run({ store }) {
      const keys = ['cafe', 'Cafe', 'café', 'cafe ']
      const results = await insertRows(
        store,
        keys.map((idempotencyKey) => sampleRow({ idempotencyKey })),
      )

      deepEqual(
        results.map((result) => result.kind),
        keys.map(() => 'inserted'),
      )
    },
  },
  {
    name: 'idempotency: concurrent transactions with one key leave one row',
    needs: ['people'],
    async run({ store }) {
      const rows = sampleRows(8, { idempotencyKey: key })
      const results = (await Promise.all(rows.map((row) => insertRows(store, [row])))).flat()
      const [winner] = await store.people.query({ limit: 10 })

      equal(await store.people.count({}), 1)
      equal(results.filter((result) => result.kind === 'inserted').length, 1)
      deepEqual(
        results.filter((result) => result.kind === 'duplicate'),
        Array.from({ length: 7 }, () => ({ kind: 'duplicate', eventId: winner!.eventId })),
      )
    },
  },
  {
    name: 'idempotency: transactions in two processes with one key leave one row',
    needs: ['people'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const [mine, theirs] = sampleRows(2, { idempotencyKey: key })
      const results = (await Promise.all([insertRows(store, [mine!]), insertRows(other, [theirs!])])).flat()

      equal(await store.people.count({}), 1)
      deepEqual(results.map((result) => result.kind).sort(), ['duplicate', 'inserted'])
    },
  },
]
