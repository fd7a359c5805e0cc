import { deepEqual, equal } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { CompleteStore, Failure, NewRow, StoredRow } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  assertBetween,
  claimAll,
  claimOne,
  doneOf,
  eventIds,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  leaseOf,
  readRow,
  replay,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { sampleRows } from './sample-rows.ts'

const failure: Failure = { error: 'TypeError: no such order', counted: true }

export const replayChecks: readonly PartCheck[] = [
  {
    name: 'replay: a dead row is NEW and due at once, as if it had never been tried',
    needs: ['people', 'actions'],
    async run({ store, wait }) {
      const dead = await deadRow(store)
      await wait(20)
      const before = await storeTime(store)
      equal(await replay(store, [dead]), 1)
      const replayed = await readRow(store, dead)

      assertBetween(replayed.availableAt, before, await storeTime(store))
      deepEqual(replayed, {
        ...dead,
        status: EventStatus.NEW,
        availableAt: replayed.availableAt,
        attempts: 0,
        deliveries: replayed.deliveries,
        doneAt: null,
        lastError: null,
      })
      equal((await claimOne(store, 'b')).eventId, dead.eventId)
    },
  },
  {
    name: 'replay: the fence rises, so that an earlier holder cannot settle the replayed row',
    needs: ['people', 'actions'],
    async run({ store }) {
      const held = await insertAndClaim(store, 'a')
      await settleOne(store, held, { kind: 'dead', failure })
      const dead = await readRow(store, held)
      await replay(store, [dead])

      equal((await readRow(store, dead)).deliveries, dead.deliveries + 1)
      deepEqual(await store.settle({ settlements: [doneOf(held)] }), [doneOf(held)])
      equal((await claimOne(store, 'b')).deliveries, dead.deliveries + 2)
    },
  },
  {
    name: 'replay: the history of failed attempts stays, and grows when the row dies again',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await deadRow(store)
      const [first] = await store.people.attempts(dead)
      await replay(store, [dead])
      deepEqual(await store.people.attempts(dead), [first])

      await settleOne(store, await claimOne(store, 'b'), { kind: 'dead', failure })
      const history = await store.people.attempts(dead)
      deepEqual([history.length, history[0], history[1]!.attempts], [2, first, 1])
      equal(await replay(store, [dead]), 1)
    },
  },
  {
    name: 'replay: rows that are not dead, or do not exist, are left alone and not counted',
    needs: ['people', 'actions'],
    async run({ store }) {
      await insertOne(store)
      await insertOne(store, { claimed: true }, leaseOf('a'))
      await insertAndSettle(store, { kind: 'done' })
      await insertAndSettle(store, { kind: 'retry', delayMs: 30_000, failure })
      await insertAndSettle(store, { kind: 'block', failure })
      const before = await store.people.query({ limit: 10 })
      const missing = { eventId: 'missing', destination: '' }

      equal(await replay(store, [...before, missing]), 0)
      deepEqual(await store.people.query({ limit: 10 }), before)
    },
  },
  {
    name: 'replay: only the named destination is replayed',
    needs: ['people', 'actions'],
    async run({ store }) {
      const billing = await deadRow(store, { destination: 'billing' })
      const shipping = await deadRow(store, { eventId: billing.eventId, destination: 'shipping' })

      equal(await replay(store, [shipping]), 1)
      equal((await readRow(store, billing)).status, EventStatus.DEAD)
      equal((await readRow(store, shipping)).status, EventStatus.NEW)
    },
  },
  {
    name: 'replay: a row named twice is replayed once',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await deadRow(store)

      equal(await replay(store, [dead, dead]), 1)
      equal((await readRow(store, dead)).deliveries, dead.deliveries + 1)
    },
  },
  {
    name: 'replay: a replayed row keeps its place in write order',
    needs: ['people', 'actions'],
    async run({ store }) {
      const dead = await deadRow(store)
      const later = await insertOne(store)
      await replay(store, [dead])

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([dead, later]))
      equal((await readRow(store, dead)).seq, dead.seq)
    },
  },
  {
    name: 'replay: a thousand rows are replayed at once',
    needs: ['people', 'actions'],
    async run({ store }) {
      await insertRows(store, sampleRows(1_000))
      const held = await store.claim({ lease: leaseOf('a'), limit: 1_000 })
      await store.settle({ settlements: held.map((row) => ({ row, outcome: { kind: 'dead', failure } })) })

      equal(await replay(store, held), 1_000)
      equal(await store.people.count({ status: [EventStatus.DEAD] }), 0)
      equal((await claimAll(store, 'b')).length, 100)
    },
  },
  {
    name: 'replay: an empty list of rows is no error',
    needs: ['people', 'actions'],
    async run({ store }) {
      equal(await replay(store, []), 0)
    },
  },
]

function deadRow<Tx>(store: CompleteStore<Tx>, fields: Partial<NewRow> = {}): Promise<StoredRow> {
  return insertAndSettle(store, { kind: 'dead', failure }, fields)
}
