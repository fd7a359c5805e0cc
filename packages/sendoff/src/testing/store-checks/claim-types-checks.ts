import { deepEqual, equal, ok } from 'node:assert/strict'
import type { CompleteStore, ClaimTypesRequest, Row } from '../../store/index.ts'
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

const wanted = { aggregateType: 'Order', eventType: 'Wanted' }
const foreign = { aggregateType: 'Order', eventType: 'Foreign' }

export const claimTypesChecks: readonly PartCheck[] = [
  {
    name: 'claimTypes: only rows of the named pairs of aggregate type and event type are claimed, in due order',
    async run({ store }) {
      const rows = [
        foreign,
        wanted,
        { aggregateType: 'Wanted', eventType: 'Order' },
        { aggregateType: 'order', eventType: 'Wanted' },
        { aggregateType: 'Order', eventType: 'Wanted ' },
        { aggregateType: 'Order "A"\\', eventType: 'Größe/"1"' },
        wanted,
      ].map(sampleRow)
      await insertRows(store, rows)
      const types = [wanted, { aggregateType: 'Order "A"\\', eventType: 'Größe/"1"' }]

      const { rows: claimed, next } = await store.claimTypes(requestOf({ types }))
      deepEqual(eventIds(claimed), eventIds([rows[1]!, rows[5]!, rows[6]!]))
      equal(next, undefined)
      deepEqual(await claimTypesAll(store, []), [])
    },
  },
  {
    name: 'claimTypes: a claimed row is leased as by claim, and rows of other types stay as they are',
    needs: ['people'],
    async run({ store }) {
      const left = await insertOne(store, foreign)
      await insertOne(store, wanted)
      const claimed = only(await claimTypesAll(store))
      const { status, doneAt, lastError, lockedUntil, blockedAt, ...stored } = await readRow(store, claimed)

      deepEqual([stored.lockedBy, stored.deliveries, stored.losses], ['a', 1, 0])
      deepEqual({ ...claimed }, stored)
      ok(lockedUntil! > stored.createdAt)
      deepEqual([status, doneAt, lastError, blockedAt], [0, null, null, null])
      deepEqual(await readRow(store, left), left)
      deepEqual(eventIds(await claimAll(store, 'b')), [left.eventId])
    },
  },
  {
    name: 'claimTypes: leased, delayed, settled and paused rows are not claimed, and lapsed ones count a loss',
    needs: ['people', 'controls'],
    async run({ store, wait }) {
      await settleOne(store, await insertAndClaim(store, 'a', wanted), { kind: 'done' })
      await insertOne(store, { ...wanted, due: { inMs: 30_000 } })
      await insertOne(store, wanted)
      const leased = await claimOne(store, 'a')
      deepEqual(await claimTypesAll(store), [])
      await store.release([leased])
      const lapsed = await claimOne(store, 'a', 50)
      await wait(60)

      await store.controls.pause({ eventType: wanted.eventType })
      deepEqual(await claimTypesAll(store), [])
      await store.controls.resume({ eventType: wanted.eventType })
      const { eventId, deliveries, losses } = only(await claimTypesAll(store))
      deepEqual([eventId, deliveries, losses], [lapsed.eventId, 3, 1])
    },
  },
  {
    name: 'claimTypes: skipRecentMs skips rows that were written less than that many milliseconds ago',
    needs: ['people'],
    async run({ store, wait }) {
      const row = await insertOne(store, wanted)
      deepEqual((await store.claimTypes(requestOf({ skipRecentMs: 5_000 }))).rows, [])
      await wait(60)

      deepEqual(eventIds((await store.claimTypes(requestOf({ skipRecentMs: 20 }))).rows), [row.eventId])
    },
  },
  {
    name: 'claimTypes: a claim examines at most window rows, and returns where the next call continues',
    async run({ store }) {
      const rows = [...sampleRows(5, foreign), ...sampleRows(3, wanted), ...sampleRows(2, foreign)]
      await insertRows(store, rows)
      const found: Row[] = []
      let calls = 0
      let from: ClaimTypesRequest['from']
      do {
        const answer = await store.claimTypes(requestOf({ window: 2, ...(from && { from }) }))
        found.push(...answer.rows)
        from = answer.next
        calls += 1
        if (calls === 2) deepEqual(found, [])
      } while (from !== undefined)

      deepEqual(eventIds(found), eventIds(rows.slice(5, 8)))
      ok(calls >= 5, `${calls} calls`)
    },
  },
  {
    name: 'claimTypes: if the limit ends a claim, the next one continues behind its last row',
    needs: ['people'],
    async run({ store }) {
      const start = await storeTime(store)
      const rows = [...sampleRows(4, wanted), ...sampleRows(1, foreign)].map((row) => ({
        ...row,
        due: { at: start - 1_000 },
      }))
      await insertRows(store, rows)
      const first = await store.claimTypes(requestOf({ limit: 3 }))
      deepEqual(eventIds(first.rows), eventIds(rows.slice(0, 3)))
      await store.release(first.rows)

      const second = await store.claimTypes(requestOf({ limit: 3, from: first.next! }))
      deepEqual(eventIds(second.rows), [rows[3]!.eventId])
      equal(second.next, undefined)
      deepEqual(await store.claimTypes(requestOf({ limit: 0 })), { rows: [], next: undefined })
    },
  },
]

function requestOf(fields: Partial<ClaimTypesRequest>): ClaimTypesRequest {
  return { lease: leaseOf('a'), limit: 100, window: 1_000, types: [wanted], ...fields }
}

async function claimTypesAll<Tx>(store: CompleteStore<Tx>, types = [wanted]): Promise<readonly Row[]> {
  return (await store.claimTypes(requestOf({ types }))).rows
}
