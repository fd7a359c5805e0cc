import { deepEqual, equal, ok } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import { type CompleteStore, maxCountedWaiting } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { insertAndClaim, insertOne, insertRows, only, readRow, replay, settleOne } from './check-steps.ts'
import { keyed } from './lane-checks.ts'

const failure = { error: 'Error: no', counted: true }

export const keyChecks: readonly PartCheck[] = [
  {
    name: 'keys: blocked returns keys whose first pending row failed or is blocked, and counts the rows behind it',
    needs: ['people', 'orderingKeys'],
    async run({ store }) {
      const retried = await insertAndClaim(store, 'a', keyed('x'))
      await settleOne(store, retried, { kind: 'retry', delayMs: 20_000, failure })
      await insertRows(store, [keyed('x'), keyed('x'), keyed('fine')])
      const blocked = await insertAndClaim(store, 'a', keyed('y'))
      await settleOne(store, blocked, { kind: 'block', failure })
      const [first, second, ...others] = await store.orderingKeys.blocked({ limit: 10 })

      deepEqual(others, [])
      deepEqual(first, { orderingKey: 'x', isParked: false, head: await readRow(store, retried), waiting: 2 })
      deepEqual(second, {
        orderingKey: 'y',
        isParked: false,
        head: await readRow(store, blocked),
        waiting: 0,
      })
      ok(second.head.blockedAt !== null)
      equal(second.head.lastError, 'Error: no')
    },
  },
  {
    name: 'keys: blocked returns keys by name, up to a limit, and behind a given one',
    needs: ['orderingKeys'],
    async run({ store }) {
      for (const key of ['c', 'a', 'b']) await block(store, key)

      deepEqual(await namesOf(store, { limit: 2 }), ['a', 'b'])
      deepEqual(await namesOf(store, { limit: 2, after: 'b' }), ['c'])
      deepEqual(await namesOf(store, { limit: 2, after: 'c' }), [])
    },
  },
  {
    name: 'keys: blocked counts no more than maxCountedWaiting rows behind the first',
    needs: ['orderingKeys'],
    async run({ store }) {
      await block(store, 'x')
      await insertRows(
        store,
        Array.from({ length: maxCountedWaiting + 5 }, () => keyed('x')),
      )

      equal(only(await store.orderingKeys.blocked({ limit: 10 })).waiting, maxCountedWaiting)
    },
  },
  {
    name: 'keys: retry makes a blocked row due now, and one in backoff',
    needs: ['orderingKeys'],
    async run({ store }) {
      const blocked = await block(store, 'x')
      const backoff = await insertAndClaim(store, 'a', keyed('y'))
      await settleOne(store, backoff, { kind: 'retry', delayMs: 20_000, failure })

      equal(await store.orderingKeys.retry({ orderingKey: 'x' }), true)
      equal(await store.orderingKeys.retry({ orderingKey: 'y' }), true)
      const due = await store.claim({ lease: { owner: 'b', ms: 30_000 }, limit: 10 })
      deepEqual(due.map(({ eventId }) => eventId).sort(), [blocked.eventId, backoff.eventId].sort())
      deepEqual(
        due.map(({ attempts }) => attempts),
        [1, 1],
      )
    },
  },
  {
    name: 'keys: retry returns false if the first row is due, leased, or missing',
    needs: ['people', 'orderingKeys'],
    async run({ store }) {
      const due = await insertOne(store, keyed('x'))
      const leased = await insertAndClaim(store, 'a', keyed('y'))

      for (const key of ['x', 'y', 'z'])
        equal(await store.orderingKeys.retry({ orderingKey: key }), false, key)
      equal((await readRow(store, due)).deliveries, 0)
      equal((await readRow(store, leased)).lockedBy, 'a')
    },
  },
  {
    name: 'keys: skip makes the first row DEAD with the reason, and its holder cannot settle it any more',
    needs: ['people', 'orderingKeys'],
    async run({ store }) {
      const head = await insertAndClaim(store, 'a', keyed('x'))
      const next = await insertOne(store, keyed('x'))
      equal(await store.orderingKeys.skip({ orderingKey: 'x', reason: 'Skipped by Ann.' }), true)
      const skipped = await readRow(store, head)

      equal(skipped.status, EventStatus.DEAD)
      equal(skipped.lastError, 'Skipped by Ann.')
      ok(skipped.doneAt !== null && skipped.lockedBy === null)
      equal((await store.settle({ settlements: [{ row: head, outcome: { kind: 'done' } }] })).length, 1)
      equal((await readRow(store, next)).status, EventStatus.NEW)
      deepEqual(
        (await store.people.attempts(head)).map(({ error }) => error),
        ['Skipped by Ann.'],
      )
    },
  },
  {
    name: 'keys: skip lifts the block, and returns false if no row is pending',
    needs: ['people', 'actions', 'orderingKeys'],
    async run({ store }) {
      const head = await block(store, 'x')
      equal(await store.orderingKeys.skip({ orderingKey: 'x', reason: 'no' }), true)
      equal((await readRow(store, head)).blockedAt, null)
      equal(await store.orderingKeys.skip({ orderingKey: 'x', reason: 'no' }), false)
      deepEqual(await namesOf(store, { limit: 10 }), [])

      equal(await replay(store, [head]), 1)
    },
  },
  {
    name: 'keys: blocked returns a parked key, with and without rows, until it is unparked',
    needs: ['people', 'orderingKeys'],
    async run({ store }) {
      const row = await insertOne(store, keyed('x'))
      for (const key of ['x', 'x', 'y']) await store.orderingKeys.park({ orderingKey: key })

      deepEqual(await store.orderingKeys.blocked({ limit: 10 }), [
        { orderingKey: 'x', isParked: true, head: row, waiting: 0 },
        { orderingKey: 'y', isParked: true, head: undefined, waiting: 0 },
      ])
      for (const key of ['x', 'y', 'z']) await store.orderingKeys.unpark({ orderingKey: key })
      deepEqual(await namesOf(store, { limit: 10 }), [])
    },
  },
  {
    name: 'keys: keys can be locked by name, by partition, and all together',
    needs: ['lanes'],
    async run({ store }) {
      await store.transaction(async (tx) => {
        await store.lanes.lock({ tx, keys: ['b', 'a', 'b'] })
        await store.lanes.lock({ tx, keys: ['a'] })
        await store.lanes.lock({ tx, keys: { partitions: [200, 3] } })
        await store.lanes.lock({ tx, keys: 'all' })
      })
    },
  },
  {
    name: 'keys: a transaction that locks a key waits for the transaction that has it',
    needs: ['lanes'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      for (const [held, asked] of [
        [['x'], ['y', 'x']],
        [['x'], { partitions: [partitionOfX] }],
        [{ partitions: [partitionOfX] }, ['x']],
        ['all', 'all'],
      ] as const) {
        const steps: string[] = []
        const holds = Promise.withResolvers<void>()
        const goesOn = Promise.withResolvers<void>()
        const first = store.transaction(async (tx) => {
          await store.lanes.lock({ tx, keys: held })
          holds.resolve()
          await goesOn.promise
          steps.push('first')
        })
        await holds.promise
        const second = other.transaction(async (tx) => {
          await other.lanes.lock({ tx, keys: asked })
          steps.push('second')
        })
        setTimeout(() => goesOn.resolve(), 50)
        await Promise.all([first, second])
        deepEqual(steps, ['first', 'second'])
      }
    },
  },
]

/** The first byte of the SHA-256 of `x`. */
const partitionOfX = 0x2d

async function block<Tx>(store: CompleteStore<Tx>, key: string) {
  const row = await insertAndClaim(store, 'a', keyed(key))
  await settleOne(store, row, { kind: 'block', failure })
  return row
}

async function namesOf<Tx>(
  store: CompleteStore<Tx>,
  filter: { limit: number; after?: string },
): Promise<string[]> {
  return (await store.orderingKeys.blocked(filter)).map(({ orderingKey }) => orderingKey)
}
