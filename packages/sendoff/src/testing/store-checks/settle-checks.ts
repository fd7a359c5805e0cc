import { deepEqual, equal, ok } from 'node:assert/strict'
import { EventStatus, isPending } from '../../store/event-status.ts'
import type { Failure, Outcome, Settlement, StoredRow } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimAll,
  claimOne,
  eventIds,
  findRow,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  assertBetween,
  leaseOf,
  readRow,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const failure: Failure = { error: 'TypeError: no such order', counted: true }
const uncounted: Failure = { error: 'Error: broker is away', counted: false }

export const settleChecks: readonly PartCheck[] = [
  {
    name: 'settle: done makes the row DONE, at the time of the store',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const row = await insertAndSettle(store, { kind: 'done' })

      equal(row.status, EventStatus.DONE)
      equal(row.attempts, 0)
      equal(row.lastError, null)
      assertBetween(row.doneAt, before, await storeTime(store))
    },
  },
  {
    name: 'settle: done clears the error of an earlier attempt',
    needs: ['people'],
    async run({ store }) {
      const retried = await insertAndSettle(store, { kind: 'retry', delayMs: 0, failure })
      equal(retried.lastError, failure.error)
      await settleOne(store, await claimOne(store, 'a'), { kind: 'done' })
      const done = await readRow(store, retried)

      deepEqual([done.status, done.lastError, done.attempts], [EventStatus.DONE, null, 1])
    },
  },
  {
    name: 'settle: done with a failure counts it and keeps it in the history',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndSettle(store, { kind: 'done', failure })

      deepEqual([row.status, row.lastError, row.attempts], [EventStatus.DONE, null, 1])
      deepEqual(
        (await store.people.attempts(row)).map((attempt) => attempt.error),
        [failure.error],
      )
    },
  },
  {
    name: 'settle: delete removes that row, and no other',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a', { destination: 'billing' })
      await insertRows(store, [sampleRow({ eventId: row.eventId, destination: 'shipping' })])
      await settleOne(store, row, { kind: 'delete' })

      equal(await findRow(store, row), undefined)
      equal(await store.people.count({}), 1)
    },
  },
  {
    name: 'settle: retry makes the row RETRY, and due again after the delay by the clock of the store',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const row = await insertAndSettle(store, { kind: 'retry', delayMs: 30_000, failure })

      equal(row.status, EventStatus.RETRY)
      equal(row.attempts, 1)
      equal(row.lastError, failure.error)
      equal(row.doneAt, null)
      assertBetween(row.availableAt, before + 30_000, (await storeTime(store)) + 30_000)
      deepEqual(await claimAll(store, 'a'), [])
    },
  },
  {
    name: 'settle: defer makes the row NEW, due again after the delay, and counts no attempt',
    needs: ['people'],
    async run({ store }) {
      await insertAndSettle(store, { kind: 'retry', delayMs: 0, failure })
      const before = await storeTime(store)
      const retried = await claimOne(store, 'a')
      await settleOne(store, retried, { kind: 'defer', delayMs: 30_000, reason: 'not open yet' })
      const row = await readRow(store, retried)

      equal(row.status, EventStatus.NEW)
      equal(row.attempts, 1)
      equal(row.lastError, 'not open yet')
      assertBetween(row.availableAt, before + 30_000, (await storeTime(store)) + 30_000)
      deepEqual(await claimAll(store, 'a'), [])
      equal((await store.people.attempts(row)).length, 1)
    },
  },
  {
    name: 'settle: a row that was retried or deferred can be claimed again once its delay is over',
    needs: ['people'],
    async run({ store, wait }) {
      const retried = await insertAndSettle(store, { kind: 'retry', delayMs: 50, failure })
      const deferred = await insertAndSettle(store, { kind: 'defer', delayMs: 50 })
      await wait(60)

      deepEqual(eventIds(await claimAll(store, 'a')), eventIds([retried, deferred]))
    },
  },
  {
    name: 'settle: block keeps the row pending but not due',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const row = await insertAndSettle(store, { kind: 'block', failure })

      ok(isPending(row.status))
      equal(row.attempts, 1)
      equal(row.lastError, failure.error)
      equal(row.doneAt, null)
      assertBetween(row.blockedAt, before, await storeTime(store))
      deepEqual(await claimAll(store, 'a'), [])
      deepEqual(await store.claim({ lease: leaseOf('a'), limit: 1, rows: [row] }), [])
    },
  },
  {
    name: 'settle: dead makes the row DEAD, at the time of the store, with its error',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const row = await insertAndSettle(store, { kind: 'dead', failure })

      equal(row.status, EventStatus.DEAD)
      equal(row.attempts, 1)
      equal(row.lastError, failure.error)
      assertBetween(row.doneAt, before, await storeTime(store))
    },
  },
  {
    name: 'settle: a failure that does not count leaves attempts as it was',
    needs: ['people'],
    async run({ store }) {
      const retried = await insertAndSettle(store, { kind: 'retry', delayMs: 30_000, failure: uncounted })
      const dead = await insertAndSettle(store, { kind: 'dead', failure: uncounted })

      deepEqual([retried.attempts, retried.lastError], [0, uncounted.error])
      deepEqual([dead.attempts, dead.lastError], [0, uncounted.error])
    },
  },
  {
    name: 'settle: every settlement raises deliveries by one, ends the lease and sets losses to 0',
    needs: ['people'],
    async run({ store, wait }) {
      const outcomes: Outcome[] = [
        { kind: 'done' },
        { kind: 'retry', delayMs: 30_000, failure },
        { kind: 'defer', delayMs: 30_000 },
        { kind: 'block', failure },
        { kind: 'dead', failure },
      ]
      await insertRows(store, sampleRows(outcomes.length, { claimed: true }), leaseOf('vanished', 50))
      await wait(60)
      const held = await claimAll(store, 'a')
      deepEqual(
        held.map((row) => [row.deliveries, row.losses]),
        outcomes.map(() => [2, 1]),
      )

      await store.settle({ settlements: held.map((row, index) => ({ row, outcome: outcomes[index]! })) })
      for (const row of await store.people.query({ limit: 10 })) {
        deepEqual([row.deliveries, row.losses, row.lockedBy, row.lockedUntil], [3, 0, null, null])
      }
    },
  },
  {
    name: 'settle: error texts are cut at 4000 characters, in the row and in the history',
    needs: ['people'],
    async run({ store }) {
      const error = `Error: ${'é'.repeat(5_000)}`
      const row = await insertAndSettle(store, { kind: 'dead', failure: { error, counted: true } })
      const [attempt] = await store.people.attempts(row)

      equal(row.lastError, error.slice(0, 4_000))
      equal(attempt!.error, error.slice(0, 4_000))
    },
  },
  {
    name: 'settle: every failure is kept in the history, oldest first, with attempts as counted',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const row = await insertOne(store)
      const failures = [failure, uncounted, { ...failure, error: 'RangeError: too late' }]
      for (const [index, each] of failures.entries()) {
        const held = await claimOne(store, `owner-${index}`)
        await settleOne(store, held, { kind: 'retry', delayMs: 0, failure: each })
      }
      const after = await storeTime(store)
      const history = await store.people.attempts(row)

      deepEqual(
        history.map(({ attempts, error, lockedBy }) => ({ attempts, error, lockedBy })),
        [
          { attempts: 1, error: failure.error, lockedBy: 'owner-0' },
          { attempts: 1, error: uncounted.error, lockedBy: 'owner-1' },
          { attempts: 2, error: 'RangeError: too late', lockedBy: 'owner-2' },
        ],
      )
      history.forEach((attempt) => assertBetween(attempt.failedAt, before, after))
    },
  },
  {
    name: 'settle: the history of one destination is not that of another',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a', { destination: 'billing' })
      await settleOne(store, row, { kind: 'retry', delayMs: 0, failure })

      equal((await store.people.attempts(row)).length, 1)
      deepEqual(await store.people.attempts({ ...row, destination: 'shipping' }), [])
    },
  },
  {
    name: 'settle: a thousand outcomes of every kind are recorded at once, and stale ones are refused',
    needs: ['people'],
    async run({ store }) {
      await insertRows(store, sampleRows(1_000))
      const held = await store.claim({ lease: leaseOf('a'), limit: 1_000 })
      const batch = held.map((row, index) => ({
        row: index % 10 === 9 ? { ...row, deliveries: 0 } : row,
        outcome: outcomesOfTheBatch[index % 6]!,
      }))
      const stale = batch.filter(({ row }) => row.deliveries === 0)
      const refused = await store.settle({ settlements: batch })
      const stored = new Map((await store.people.query({ limit: 2_000 })).map((row) => [row.eventId, row]))

      deepEqual(refusedIds(refused), refusedIds(stale))
      for (const { row, outcome } of batch) {
        const became = row.deliveries === 0 ? 'refused' : outcome.kind
        deepEqual(summaryOf(stored.get(row.eventId)), summaryOfTheBatch[became], became)
      }
    },
  },
  {
    name: 'settle: an empty list of settlements is no error',
    async run({ store }) {
      deepEqual(await store.settle({ settlements: [] }), [])
    },
  },
]

const outcomesOfTheBatch: readonly Outcome[] = [
  { kind: 'done' },
  { kind: 'delete' },
  { kind: 'retry', delayMs: 30_000, failure },
  { kind: 'defer', delayMs: 30_000, reason: 'later' },
  { kind: 'block', failure },
  { kind: 'dead', failure },
]

const summaryOfTheBatch = {
  done: [EventStatus.DONE, 0, 2, null, null, false],
  delete: undefined,
  retry: [EventStatus.RETRY, 1, 2, null, failure.error, false],
  defer: [EventStatus.NEW, 0, 2, null, 'later', false],
  block: [EventStatus.NEW, 1, 2, null, failure.error, true],
  dead: [EventStatus.DEAD, 1, 2, null, failure.error, false],
  refused: [EventStatus.NEW, 0, 1, 'a', null, false],
}

function summaryOf(row: StoredRow | undefined): unknown[] | undefined {
  if (!row) return undefined

  // The store chooses whether a blocked row is NEW or RETRY: both are pending.
  const status = row.blockedAt !== null && isPending(row.status) ? EventStatus.NEW : row.status
  return [status, row.attempts, row.deliveries, row.lockedBy, row.lastError, row.blockedAt !== null]
}

function refusedIds(settlements: readonly Settlement[]): string[] {
  return eventIds(settlements.map(({ row }) => row)).sort()
}
