import { deepEqual, equal, ok } from 'node:assert/strict'
import { maxDelayMs } from '../../store/rows.ts'
import type { PartCheck } from '../store-check.ts'
import {
  assertBetween,
  claimAll,
  claimOne,
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  leaseOf,
  readRow,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { sampleRow } from './sample-rows.ts'

export const timeChecks: readonly PartCheck[] = [
  {
    name: 'time: createdAt is the time of the store, in whole milliseconds',
    needs: ['people'],
    async run({ store, wait }) {
      const first = await insertOne(store)
      await wait(100)
      const second = await insertOne(store)
      const third = await insertOne(store)

      ok([first, second, third].every((row) => Number.isSafeInteger(row.createdAt)))
      ok(second.createdAt - first.createdAt >= 95, 'the clock of the store went on while waiting')
      ok(third.createdAt >= second.createdAt)
    },
  },
  {
    name: 'time: due.inMs counts from the time of the store',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const now = await insertOne(store, { due: { inMs: 0 } })
      const later = await insertOne(store, { due: { inMs: 30_000 } })
      const after = await storeTime(store)

      assertBetween(now.availableAt, before, after)
      assertBetween(later.availableAt, before + 30_000, after + 30_000)
    },
  },
  {
    name: 'time: due.at is kept exactly, past or future',
    needs: ['people'],
    async run({ store, wait }) {
      const start = await storeTime(store)
      await wait(20)
      const past = await insertOne(store, { due: { at: start } })
      const future = await insertOne(store, { due: { at: start + 86_400_123 } })

      equal(past.availableAt, start)
      equal(future.availableAt, start + 86_400_123)
      deepEqual(eventIds(await claimAll(store, 'a')), [past.eventId])
    },
  },
  {
    name: 'time: the longest delay is kept, of a new row and of a settled one, and holds up no other row',
    needs: ['people'],
    async run({ store }) {
      const failure = { error: 'Error: not yet', counted: true }
      const before = await storeTime(store)
      const fresh = await insertOne(store, { due: { inMs: maxDelayMs } })
      const at = await insertOne(store, { due: { at: before + maxDelayMs } })
      const retried = await insertAndClaim(store, 'a')
      const deferred = await insertAndClaim(store, 'a')
      await settleOne(store, retried, { kind: 'retry', delayMs: maxDelayMs, failure })
      await settleOne(store, deferred, { kind: 'defer', delayMs: maxDelayMs })
      const after = await storeTime(store)

      equal(at.availableAt, before + maxDelayMs)
      for (const row of [fresh, retried, deferred]) {
        assertBetween((await readRow(store, row)).availableAt, before + maxDelayMs, after + maxDelayMs)
      }
      const due = await insertOne(store)
      deepEqual(eventIds(await claimAll(store, 'b')), [due.eventId])
    },
  },
  {
    name: 'time: a row with due.at can be claimed once the clock of the store has reached that time',
    needs: ['people'],
    async run({ store, wait }) {
      const start = await storeTime(store)
      const row = await insertOne(store, { due: { at: start + 1_500 } })
      deepEqual(await claimAll(store, 'a'), [])
      await wait(1_520)

      equal((await claimOne(store, 'a')).eventId, row.eventId)
    },
  },
  {
    name: 'time: leases run from the time of the store, born claimed, claimed or renewed',
    needs: ['people'],
    async run({ store }) {
      const before = await storeTime(store)
      const born = await insertOne(store, { claimed: true }, leaseOf('a', 20_000))
      const claimed = await insertAndClaim(store, 'a')
      const renewed = await insertAndClaim(store, 'a')
      await store.renew({ rows: [renewed], lease: leaseOf('a', 40_000) })
      const after = await storeTime(store)

      assertBetween((await readRow(store, born)).lockedUntil, before + 20_000, after + 20_000)
      assertBetween((await readRow(store, claimed)).lockedUntil, before + 30_000, after + 30_000)
      assertBetween((await readRow(store, renewed)).lockedUntil, before + 40_000, after + 40_000)
    },
  },
  {
    name: 'time: occurredAt is kept exactly, whatever the time of the store',
    needs: ['people'],
    async run({ store }) {
      const longAgo = sampleRow({ occurredAt: Date.UTC(1999, 11, 31, 23, 59, 59, 999) })
      const ahead = sampleRow({ occurredAt: Date.UTC(2101, 5, 6, 7, 8, 9, 1) })
      await insertRows(store, [longAgo, ahead])

      equal((await readRow(store, longAgo)).occurredAt, longAgo.occurredAt)
      equal((await readRow(store, ahead)).occurredAt, ahead.occurredAt)
      deepEqual(eventIds(await claimAll(store, 'a')), eventIds([longAgo, ahead]))
    },
  },
]
