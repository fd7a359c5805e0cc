import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { PartCheck } from '../store-check.ts'
import {
  afterCommit,
  claimAll,
  claimOne,
  eventIds,
  insertOne,
  insertRows,
  leaseOf,
  readRow,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

export const insertChecks: readonly PartCheck[] = [
  {
    name: 'insert: rows are added in the given order',
    needs: ['people'],
    async run({ store }) {
      const rows = sampleRows(5)
      const results = await insertRows(store, rows)
      const stored = await store.people.query({ limit: 10 })

      deepEqual(eventIds(stored), eventIds(rows))
      deepEqual(
        results,
        stored.map((row) => ({ kind: 'inserted', seq: row.seq, deliveries: 0, certain: true })),
      )
    },
  },
  {
    name: 'insert: the result of a row is known once its transaction has committed, and that of a queued row not before',
    async run({ store }) {
      const results = await store.transaction(async (tx) => {
        const written = await store.insert({
          tx,
          rows: [sampleRow(), sampleRow({ claimed: true })],
          lease: leaseOf('writer'),
        })
        for (const row of written) if (row.kind === 'queued') equal(row.result(), undefined)
        return written
      })

      deepEqual(
        afterCommit(results).map((row) => row.kind),
        ['inserted', 'inserted'],
      )
    },
  },
  {
    name: 'insert: seq rises from row to row and from transaction to transaction',
    needs: ['people'],
    async run({ store }) {
      await insertRows(store, sampleRows(3))
      await insertRows(store, sampleRows(3))
      const seqs = (await store.people.query({ limit: 10 })).map((row) => row.seq)

      ok(seqs.every((seq, index) => Number.isSafeInteger(seq) && (index === 0 || seq > seqs[index - 1]!)))
      equal(seqs.length, 6)
    },
  },
  {
    name: 'insert: a row starts NEW, free and with its counters at 0',
    needs: ['people'],
    async run({ store }) {
      const row = await insertOne(store)

      equal(row.status, EventStatus.NEW)
      equal(row.attempts, 0)
      equal(row.deliveries, 0)
      equal(row.losses, 0)
      equal(row.lockedBy, null)
      equal(row.lockedUntil, null)
      equal(row.doneAt, null)
      equal(row.lastError, null)
      equal(row.blockedAt, null)
    },
  },
  {
    name: 'insert: a row with claimed is born with the lease, as its first delivery',
    needs: ['people'],
    async run({ store }) {
      const [result] = await insertRows(store, [sampleRow({ claimed: true })], leaseOf('writer'))
      const [row] = await store.people.query({ limit: 1 })

      deepEqual(result, { kind: 'inserted', seq: row!.seq, deliveries: 1, certain: true })
      equal(row!.deliveries, 1)
      equal(row!.losses, 0)
      equal(row!.lockedBy, 'writer')
      ok(row!.lockedUntil! > row!.createdAt)
    },
  },
  {
    name: 'insert: no process can claim a row born claimed while its lease lasts',
    async run({ store }) {
      const claimed = sampleRow({ claimed: true })
      const free = sampleRow()
      await insertRows(store, [claimed, free])

      deepEqual(eventIds(await claimAll(store, 'other')), [free.eventId])
    },
  },
  {
    name: 'insert: a row born claimed is free once its lease has run out, and counts a loss',
    async run({ store, wait }) {
      await insertRows(store, [sampleRow({ claimed: true })], leaseOf('writer', 50))
      await wait(60)
      const row = await claimOne(store, 'other')

      equal(row.deliveries, 2)
      equal(row.losses, 1)
    },
  },
  {
    name: 'insert: a second row of the same event id and destination is an error',
    needs: ['people'],
    async run({ store }) {
      const row = await insertOne(store)

      await rejects(insertRows(store, [sampleRow({ eventId: row.eventId })]), duplicateEventId)
      deepEqual(await store.people.query({ limit: 10 }), [row])
    },
  },
  {
    name: 'insert: an event id twice in one batch is an error and adds neither',
    needs: ['people'],
    async run({ store }) {
      const row = sampleRow()

      await rejects(insertRows(store, [row, sampleRow(), row]), duplicateEventId)
      equal(await store.people.count({}), 0)
    },
  },
  {
    name: 'insert: the transaction stays usable after an event id that exists, and keeps all else that it wrote',
    needs: ['people'],
    async run({ store }) {
      const [first, last] = sampleRows(2)
      await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [first!], lease: leaseOf('writer') })
        await rejects(store.insert({ tx, rows: [first!], lease: leaseOf('writer') }), duplicateEventId)
        await store.insert({ tx, rows: [last!], lease: leaseOf('writer') })
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([first!, last!]))
    },
  },
  {
    name: 'insert: if one of many rows has an event id that exists, no row is added and no idempotency key is used',
    needs: ['people'],
    async run({ store }) {
      const existing = await insertOne(store)
      const again = sampleRow({ eventId: existing.eventId })
      const keyed = sampleRow({ idempotencyKey: 'key' })
      const rows = [...sampleRows(3), keyed, again, ...sampleRows(3)]
      await rejects(insertRows(store, rows), { ...duplicateEventId, message: new RegExp(existing.eventId) })
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [existing.eventId])

      equal((await insertRows(store, [sampleRow({ idempotencyKey: 'key' })]))[0]!.kind, 'inserted')
    },
  },
  {
    name: 'insert: a transaction that caught the error of a duplicate among many rows commits what else it wrote',
    needs: ['people'],
    async run({ store }) {
      const existing = await insertOne(store)
      const again = sampleRow({ eventId: existing.eventId })
      const [before, after] = [sampleRow({ idempotencyKey: 'a' }), sampleRow({ idempotencyKey: 'b' })]
      let isCaught = false
      const work = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [before], lease: leaseOf('writer') })
        const many = [
          sampleRow({ idempotencyKey: 'a' }),
          sampleRow({ idempotencyKey: 'b' }),
          again,
          sampleRow(),
        ]
        await store.insert({ tx, rows: many, lease: leaseOf('writer') }).catch((error: { code?: string }) => {
          equal(error.code, 'OUTBOX_DUPLICATE_EVENT_ID')
          isCaught = true
        })
        const [result] = await store.insert({ tx, rows: [after], lease: leaseOf('writer') })
        if (isCaught) equal(result!.kind, 'inserted')
      })
      const failure = await work.then(
        () => undefined,
        ({ code }: { code?: string }) => code,
      )

      // A store that adds queued rows at the commit refuses the commit as a whole.
      equal(failure, isCaught ? undefined : duplicateEventId.code)
      const kept = isCaught ? [existing, before, after] : [existing]
      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds(kept))
    },
  },
  {
    name: 'insert: if the last of thousands of rows has an event id that exists, none is added',
    needs: ['people'],
    async run({ store }) {
      const existing = await insertOne(store)
      const rows = [...sampleRows(2_500), sampleRow({ eventId: existing.eventId })]

      await rejects(insertRows(store, rows), duplicateEventId)
      equal(await store.people.count({}), 1)
    },
  },
  {
    name: 'insert: event ids that differ only in case are different events',
    needs: ['people'],
    async run({ store }) {
      await insertRows(store, [sampleRow({ eventId: 'event-a' }), sampleRow({ eventId: 'EVENT-A' })])

      equal(await store.people.count({}), 2)
      equal((await readRow(store, { eventId: 'EVENT-A', destination: '' })).eventId, 'EVENT-A')
    },
  },
  {
    name: 'insert: a thousand rows are added at once and keep their order',
    needs: ['people'],
    async run({ store }) {
      const rows = sampleRows(1_000)
      await insertRows(store, rows)

      deepEqual(eventIds(await store.people.query({ limit: 2_000 })), eventIds(rows))
    },
  },
  {
    name: 'insert: an empty list of rows is no error',
    needs: ['people'],
    async run({ store }) {
      deepEqual(await insertRows(store, []), [])
      equal(await store.people.count({}), 0)
    },
  },
]

const duplicateEventId = { name: 'OutboxError', code: 'OUTBOX_DUPLICATE_EVENT_ID' }
