import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { EventStatus } from '../../store/event-status.ts'
import type { Row, Settlement } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  afterCommit,
  claimAll,
  doneOf,
  eventIds,
  insertAndClaim,
  leaseOf,
  readRow,
  Undo,
} from './check-steps.ts'
import { sampleRow } from './sample-rows.ts'

const lease = leaseOf('writer')

export const transactionChecks: readonly PartCheck[] = [
  {
    name: 'transaction: a commit keeps all of its rows and returns what the work returned',
    needs: ['people'],
    async run({ store }) {
      const first = sampleRow()
      const second = sampleRow()
      const answer = await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [first], lease })
        await store.insert({ tx, rows: [second], lease })
        return 'committed'
      })

      equal(answer, 'committed')
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [first.eventId, second.eventId])
    },
  },
  {
    name: 'transaction: work that throws leaves no row behind, and its error is passed on',
    needs: ['people'],
    async run({ store }) {
      const undo = new Undo()
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow(), sampleRow({ claimed: true })], lease })
        throw undo
      })

      await rejects(undone, (error) => error === undo)
      equal(await store.people.count({}), 0)
    },
  },
  {
    name: 'transaction: an event id that was rolled back can be written again',
    needs: ['people'],
    async run({ store }) {
      const row = sampleRow()
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [row], lease })
        throw new Undo()
      })
      await rejects(undone, Undo)
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))

      deepEqual(eventIds(await store.people.query({ limit: 10 })), [row.eventId])
    },
  },
  {
    name: 'transaction: no other transaction sees a row before its commit',
    async run({ store, wait }) {
      const elsewhere = AsyncLocalStorage.snapshot()
      let seen: Promise<readonly Row[]> | undefined
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow()], lease })
        // Not awaited: a store may make the claim wait for the transaction's end.
        seen = elsewhere(() => claimAll(store, 'other'))
        await wait(20)
        throw new Undo()
      })

      await rejects(undone, Undo)
      deepEqual(await seen, [])
    },
  },
  {
    name: 'transaction: a rollback removes no row of another transaction',
    needs: ['people'],
    async run({ store, wait }) {
      const kept = sampleRow()
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow()], lease })
        await wait(20)
        throw new Undo()
      })
      const committed = store.transaction((tx) => store.insert({ tx, rows: [kept], lease }))

      await Promise.all([rejects(undone, Undo), committed])
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [kept.eventId])
    },
  },
  {
    name: 'transaction: a rollback undoes no settlement made meanwhile',
    needs: ['people'],
    async run({ store, wait }) {
      const row = await insertAndClaim(store, 'a')
      const elsewhere = AsyncLocalStorage.snapshot()
      let refused: Promise<readonly Settlement[]> | undefined
      const undone = store.transaction(async (tx) => {
        await store.insert({ tx, rows: [sampleRow()], lease })
        refused = elsewhere(() => store.settle({ settlements: [doneOf(row)] }))
        await wait(20)
        throw new Undo()
      })

      await rejects(undone, Undo)
      deepEqual(await refused, [])
      equal((await readRow(store, row)).status, EventStatus.DONE)
    },
  },
  {
    name: 'transaction: a nested transaction is kept with the outer one, in write order',
    needs: ['people'],
    async run({ store }) {
      const before = sampleRow()
      const nested = sampleRow()
      const after = sampleRow()
      await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [before], lease })
        await store.transaction((inner) => store.insert({ tx: inner, rows: [nested], lease }), { within: tx })
        await store.insert({ tx, rows: [after], lease })
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([before, nested, after]))
    },
  },
  {
    name: 'transaction: a nested transaction is undone alone',
    needs: ['people'],
    async run({ store }) {
      const before = sampleRow()
      const after = sampleRow()
      await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [before], lease })
        const undone = store.transaction(
          async (inner) => {
            await store.insert({ tx: inner, rows: [sampleRow()], lease })
            throw new Undo()
          },
          { within: tx },
        )
        await rejects(undone, Undo)
        await store.insert({ tx, rows: [after], lease })
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([before, after]))
    },
  },
  {
    name: 'transaction: a nested transaction that committed is undone with the outer one',
    needs: ['people'],
    async run({ store }) {
      const undone = store.transaction(async (tx) => {
        await store.transaction((inner) => store.insert({ tx: inner, rows: [sampleRow()], lease }), {
          within: tx,
        })
        throw new Undo()
      })

      await rejects(undone, Undo)
      equal(await store.people.count({}), 0)
    },
  },
  {
    name: 'transaction: undoing a nested transaction undoes the ones nested in it',
    needs: ['people'],
    async run({ store }) {
      const kept = sampleRow()
      await store.transaction(async (tx) => {
        await store.transaction((inner) => store.insert({ tx: inner, rows: [kept], lease }), { within: tx })
        const undone = store.transaction(
          async (inner) => {
            await store.transaction(
              (innermost) => store.insert({ tx: innermost, rows: [sampleRow()], lease }),
              { within: inner },
            )
            throw new Undo()
          },
          { within: tx },
        )
        await rejects(undone, Undo)
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), [kept.eventId])
    },
  },
  {
    name: 'transaction: an insert that failed in a nested transaction leaves the outer one usable',
    needs: ['people'],
    async run({ store }) {
      const row = sampleRow()
      const after = sampleRow()
      await store.transaction(async (tx) => {
        await store.insert({ tx, rows: [row], lease })
        await rejects(
          store.transaction((inner) => store.insert({ tx: inner, rows: [row], lease }), { within: tx }),
          { code: 'OUTBOX_DUPLICATE_EVENT_ID' },
        )
        await store.insert({ tx, rows: [after], lease })
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([row, after]))
    },
  },
  {
    name: 'transaction: inTransaction is true for a handle until its transaction has ended',
    async run({ store }) {
      const ended = await store.transaction(async (tx) => {
        equal(await store.inTransaction(tx), true)
        await store.transaction(async (inner) => equal(await store.inTransaction(inner), true), {
          within: tx,
        })
        equal(await store.inTransaction(tx), true)
        return { tx }
      })

      equal(await store.inTransaction(ended.tx), false)
    },
  },
  {
    name: 'transaction: a row written outside any nested transaction is certain',
    async run({ store }) {
      const results = await store.transaction(async (tx) => {
        const before = await store.insert({ tx, rows: [sampleRow()], lease })
        await store.transaction(async () => {}, { within: tx })
        return [...before, ...(await store.insert({ tx, rows: [sampleRow()], lease }))]
      })

      for (const result of afterCommit(results)) ok(result.kind === 'inserted' && result.certain)
    },
  },
  {
    name: "transaction: refusedCommit is false for an error that is not the database's own",
    async run({ store }) {
      for (const code of ['ECONNRESET', 'EPIPE', 'P1017', undefined]) {
        const error = Object.assign(new Error('The connection was lost.'), { code })
        equal(store.refusedCommit?.(error) ?? false, false)
      }
    },
  },
  {
    name: 'transaction: another process sees a commit',
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const row = sampleRow()
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))

      deepEqual(eventIds(await claimAll(other, 'other')), [row.eventId])
    },
  },
]
