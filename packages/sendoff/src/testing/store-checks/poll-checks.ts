import { deepEqual, equal } from 'node:assert/strict'
import type { CompleteStore, Row } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  leaseOf,
  letRunOut,
  only,
  poll,
  pollOwner as owner,
  readRow,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const successor = { lock: 'relay', token: 'b', ttlMs: 30_000 }

export const pollChecks: readonly PartCheck[] = [
  {
    name: 'pollPending: the owner of the lock reads due rows without leasing them',
    needs: ['people'],
    async run({ store }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const row = await insertOne(store)
      const polled = only(await poll(store))

      deepEqual([polled.eventId, polled.lockedBy, polled.deliveries], [row.eventId, null, 0])
      deepEqual(await readRow(store, row), row)
      deepEqual(eventIds(await poll(store)), [row.eventId])
    },
  },
  {
    name: 'pollPending: due rows come oldest due time first, then in write order, up to the limit',
    needs: ['people'],
    async run({ store, wait }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const start = await storeTime(store)
      await wait(50)
      const late = sampleRow({ due: { at: start + 20 } })
      const early = sampleRow({ due: { at: start + 10 } })
      const twin = sampleRow({ due: { at: start + 10 } })
      await insertRows(store, [late, early, twin])

      deepEqual(eventIds(await poll(store)), eventIds([early, twin, late]))
      deepEqual(eventIds(await poll(store, { limit: 2 })), eventIds([early, twin]))
    },
  },
  {
    name: 'pollPending: delayed, settled and blocked rows are not read',
    needs: ['people'],
    async run({ store }) {
      const failure = { error: 'Error: no', counted: true }
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await insertOne(store, { due: { inMs: 30_000 } })
      await settleOne(store, await insertAndClaim(store, 'b'), { kind: 'done' })
      await settleOne(store, await insertAndClaim(store, 'b'), { kind: 'dead', failure })
      await settleOne(store, await insertAndClaim(store, 'b'), { kind: 'block', failure })

      deepEqual(await poll(store), [])
    },
  },
  {
    name: 'pollPending: with from only rows at or behind that place in due order are read',
    needs: ['people'],
    async run({ store, wait }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const start = await storeTime(store)
      await wait(50)
      const last = sampleRow({ due: { at: start + 20 } })
      const before = sampleRow({ due: { at: start + 10 } })
      const place = sampleRow({ due: { at: start + 10 } })
      await insertRows(store, [last, before, place])

      deepEqual(eventIds(await poll(store, { from: await readRow(store, place) })), eventIds([place, last]))
    },
  },
  {
    name: 'pollPending: skipRecentMs skips rows that were written less than that many milliseconds ago',
    needs: ['people'],
    async run({ store, wait }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const row = await insertOne(store)
      await wait(60)

      deepEqual(await poll(store, { skipRecentMs: 60_000 }), [])
      deepEqual(eventIds(await poll(store, { skipRecentMs: 50 })), [row.eventId])
    },
  },
  {
    name: 'pollPending: leased rows are not read',
    needs: ['people'],
    async run({ store }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await insertAndClaim(store, 'b')
      await insertOne(store, { claimed: true }, leaseOf('b'))

      deepEqual(await poll(store), [])
    },
  },
  {
    name: 'pollPending: rows whose lease has run out come along with their lockedBy, unchanged',
    needs: ['people'],
    async run({ store, wait }) {
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const row = await insertOne(store, { claimed: true }, leaseOf('b', 50))
      await wait(60)
      const polled = only(await poll(store))

      deepEqual([polled.eventId, polled.lockedBy, polled.deliveries], [row.eventId, 'b', 1])
      deepEqual(await readRow(store, row), row)
    },
  },
  {
    name: 'pollPending: nothing is read without the lock, with another token or under another name',
    needs: ['people'],
    async run({ store }) {
      await insertOne(store)
      equal(await store.pollPending({ owner, limit: 10, held: null }), undefined)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })

      for (const stranger of [
        { ...owner, token: 'b' },
        { ...owner, lock: 'other' },
      ]) {
        equal(await store.pollPending({ owner: stranger, limit: 10, held: null }), undefined)
      }
    },
  },
  {
    name: 'pollPending: nothing is read once the lock has run out, was taken over or released',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      await store.locks.acquire({ ...owner, ttlMs: 50 })
      await wait(60)
      equal(await store.pollPending({ owner, limit: 10, held: null }), undefined)

      await store.locks.acquire(successor)
      equal(await store.pollPending({ owner, limit: 10, held: null }), undefined)

      await store.locks.release(successor)
      equal(await store.pollPending({ owner: successor, limit: 10, held: null }), undefined)
    },
  },
  {
    name: 'pollPending: a takeover counts a loss for each row that a vanished owner had read, and for no other',
    needs: ['people'],
    async run({ store, wait }) {
      await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store, { limit: 3 })
      await letRunOut(store, owner, wait)

      deepEqual(await lossesAfterTakeover(store), [1, 1, 1, 0])
    },
  },
  {
    name: 'pollPending: a takeover also counts a loss for rows that the owner held already',
    needs: ['people'],
    async run({ store, wait }) {
      const [first, second, third] = await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store, { from: third, limit: 1, held: { low: first, high: second } })
      await letRunOut(store, owner, wait)

      deepEqual(await lossesAfterTakeover(store), [1, 1, 1, 0])
    },
  },
  {
    name: 'pollPending: bounds follow due order, not write order',
    needs: ['people'],
    async run({ store, wait }) {
      const start = await storeTime(store)
      await insertRows(
        store,
        [30, 10, 20, 40].map((age) => sampleRow({ due: { at: start - age } })),
      )
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store, { limit: 2 })
      await letRunOut(store, owner, wait)

      deepEqual(await lossesAfterTakeover(store), [1, 0, 0, 1])
    },
  },
  {
    name: 'pollPending: bounds are those of the last read, and null if nothing is held',
    needs: ['people'],
    async run({ store, wait }) {
      const [, , third] = await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store)
      await poll(store, { from: third })
      await letRunOut(store, owner, wait)
      deepEqual(await lossesAfterTakeover(store), [0, 0, 1, 1])

      const idle = { owner: { lock: 'empty', token: 'a' }, limit: 10, held: null }
      await store.locks.acquire({ ...idle.owner, ttlMs: 30_000 })
      await store.pollPending(idle)
      await store.pollPending({ ...idle, limit: 0 })
      await letRunOut(store, idle.owner, wait)
      deepEqual(await lossesAfterTakeover(store, 'empty'), [0, 0, 1, 1])
    },
  },
  {
    name: 'pollPending: an owner that lost its lock does not change the bounds',
    needs: ['people'],
    async run({ store, wait }) {
      const [, , third] = await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store, { limit: 2 })
      await letRunOut(store, owner, wait)
      await store.pollPending({ owner, limit: 10, held: { low: third, high: third } })

      deepEqual(await lossesAfterTakeover(store), [1, 1, 0, 0])
    },
  },
  {
    name: 'pollPending: a released lock leaves no bounds behind',
    needs: ['people'],
    async run({ store }) {
      await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store)
      await store.locks.release(owner)

      deepEqual(await lossesAfterTakeover(store), [0, 0, 0, 0])
    },
  },
  {
    name: 'pollPending: an owner that renews its lock or acquires it again still leaves its bounds behind',
    needs: ['people'],
    async run({ store, wait }) {
      await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store)
      equal(await store.locks.renew({ ...owner, ttlMs: 30_000 }), true)
      equal(await store.locks.acquire({ ...owner, ttlMs: 50 }), true)
      await wait(60)

      deepEqual(await lossesAfterTakeover(store), [1, 1, 1, 1])
    },
  },
  {
    name: 'pollPending: a takeover counts once, and forgets the bounds',
    needs: ['people'],
    async run({ store, wait }) {
      await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await poll(store)
      await letRunOut(store, owner, wait)
      equal(await store.locks.acquire({ ...successor, ttlMs: 50 }), true)
      await wait(60)

      deepEqual(await lossesAfterTakeover(store, owner.lock, 'third'), [1, 1, 1, 1])
    },
  },
  {
    name: 'pollPending: a takeover leaves settled and leased rows alone',
    needs: ['people'],
    async run({ store, wait }) {
      const [first, second] = await insertFour(store)
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const [read] = await poll(store)
      deepEqual(await store.settle({ settlements: [{ row: read!, outcome: { kind: 'done' } }], owner }), [])
      await store.claim({ lease: leaseOf('b'), limit: 1, rows: [second] })
      await letRunOut(store, owner, wait)

      equal(read!.eventId, first.eventId)
      deepEqual(await lossesAfterTakeover(store), [0, 0, 1, 1])
    },
  },
]

async function insertFour<Tx>(store: CompleteStore<Tx>): Promise<[Row, Row, Row, Row]> {
  await insertRows(store, sampleRows(4))
  const [first, second, third, fourth] = await store.people.query({ limit: 4 })
  return [first!, second!, third!, fourth!]
}

/** Takes the lock over and returns the losses of all rows in write order. */
async function lossesAfterTakeover<Tx>(
  store: CompleteStore<Tx>,
  lock = owner.lock,
  token = successor.token,
): Promise<readonly number[]> {
  equal(await store.locks.acquire({ lock, token, ttlMs: 30_000 }), true, 'the lock was not free')
  return (await store.people.query({ limit: 10 })).map((row) => row.losses)
}
