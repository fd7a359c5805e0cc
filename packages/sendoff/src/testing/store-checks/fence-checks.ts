import { deepEqual, equal } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import type { CompleteStore, Row } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimAll,
  claimOne,
  doneOf,
  insertAndClaim,
  insertOne,
  leaseOf,
  letRunOut,
  only,
  readRow,
  settleOne,
} from './check-steps.ts'

const owner = { lock: 'relay', token: 'a' }

export const fenceChecks: readonly PartCheck[] = [
  {
    name: 'settle: a holder whose lease ran out cannot overrule the next holder',
    needs: ['people'],
    async run({ store, wait }) {
      const { late, current } = await takenOver(store, wait)
      const before = await readRow(store, current)

      deepEqual(await store.settle({ settlements: [doneOf(late)] }), [doneOf(late)])
      deepEqual(await readRow(store, current), before)
      deepEqual(await store.settle({ settlements: [doneOf(current)] }), [])
    },
  },
  {
    name: 'settle: no outcome of a holder whose lease was taken over has any effect',
    needs: ['people'],
    async run({ store, wait }) {
      const failure = { error: 'Error: too late', counted: true }
      const { late, current } = await takenOver(store, wait)
      const before = await readRow(store, current)
      const batch = [
        { row: late, outcome: { kind: 'delete' } },
        { row: late, outcome: { kind: 'retry', delayMs: 0, failure } },
        { row: late, outcome: { kind: 'defer', delayMs: 0 } },
        { row: late, outcome: { kind: 'block', failure } },
        { row: late, outcome: { kind: 'dead', failure } },
      ] as const

      for (const settlement of batch)
        deepEqual(await store.settle({ settlements: [settlement] }), [settlement])
      deepEqual(await readRow(store, current), before)
      deepEqual(await store.people.attempts(current), [])
    },
  },
  {
    name: 'settle: a holder cannot overrule the process that settled after it',
    needs: ['people'],
    async run({ store, wait }) {
      const { late, current } = await takenOver(store, wait)
      await settleOne(store, current, { kind: 'defer', delayMs: 30_000 })
      const before = await readRow(store, current)

      deepEqual(await store.settle({ settlements: [doneOf(late)] }), [doneOf(late)])
      deepEqual(await store.renew({ rows: [late], lease: leaseOf('late') }), [late])
      await store.release([late])
      deepEqual(await readRow(store, current), before)
    },
  },
  {
    name: 'renew: a holder whose lease was taken over cannot renew it',
    needs: ['people'],
    async run({ store, wait }) {
      const { late, current } = await takenOver(store, wait)
      const before = await readRow(store, current)

      deepEqual(await store.renew({ rows: [late], lease: leaseOf('late') }), [late])
      deepEqual(await readRow(store, current), before)
    },
  },
  {
    name: 'release: a holder whose lease was taken over frees nothing',
    needs: ['people'],
    async run({ store, wait }) {
      const { late } = await takenOver(store, wait)
      await store.release([late])

      deepEqual(await claimAll(store, 'third'), [])
    },
  },
  {
    name: 'settle: deliveries distinguishes two claims of the same process',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const earlier = await claimOne(store, 'a', 50)
      await wait(60)
      const later = await claimOne(store, 'a')
      const before = await readRow(store, later)

      deepEqual(await store.settle({ settlements: [doneOf(earlier)] }), [doneOf(earlier)])
      deepEqual(await store.renew({ rows: [earlier], lease: leaseOf('a') }), [earlier])
      await store.release([earlier])
      deepEqual(await readRow(store, later), before)
      deepEqual(await store.settle({ settlements: [doneOf(later)] }), [])
    },
  },
  {
    name: 'settle: a row whose lease ran out but which no process claimed since may still be settled',
    needs: ['people'],
    async run({ store, wait }) {
      await insertOne(store)
      const row = await claimOne(store, 'a', 50)
      await wait(60)

      deepEqual(await store.settle({ settlements: [doneOf(row)] }), [])
      equal((await readRow(store, row)).status, EventStatus.DONE)
    },
  },
  {
    name: 'settle: a settled row cannot be settled again',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await settleOne(store, row, { kind: 'done' })
      const before = await readRow(store, row)
      const again = {
        row,
        outcome: { kind: 'dead', failure: { error: 'Error: no', counted: true } },
      } as const

      deepEqual(await store.settle({ settlements: [again] }), [again])
      deepEqual(await readRow(store, row), before)
    },
  },
  {
    name: 'settle: a settled row cannot be settled again by the owner of a lock either',
    needs: ['people'],
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await settleOne(store, row, { kind: 'done' })
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const settled = await readRow(store, row)

      deepEqual(await store.settle({ settlements: [doneOf(settled)], owner }), [doneOf(settled)])
      deepEqual(await readRow(store, row), settled)
    },
  },
  {
    name: 'settle: a row that does not exist is refused',
    async run({ store }) {
      const row = await insertAndClaim(store, 'a')
      await settleOne(store, row, { kind: 'delete' })

      deepEqual(await store.settle({ settlements: [doneOf(row)] }), [doneOf(row)])
    },
  },
  {
    name: 'settle: a holder settles only its own destination',
    needs: ['people'],
    async run({ store }) {
      const billing = await insertAndClaim(store, 'a', { destination: 'billing' })
      const shipping = await insertAndClaim(store, 'a', { eventId: billing.eventId, destination: 'shipping' })
      await settleOne(store, billing, { kind: 'done' })

      equal((await readRow(store, billing)).status, EventStatus.DONE)
      equal((await readRow(store, shipping)).status, EventStatus.NEW)
    },
  },
  {
    name: 'settle: one refused settlement does not hold up the others of its batch',
    needs: ['people'],
    async run({ store, wait }) {
      const { late } = await takenOver(store, wait)
      const first = await insertAndClaim(store, 'a')
      const last = await insertAndClaim(store, 'a')

      deepEqual(await store.settle({ settlements: [first, late, last].map(doneOf) }), [doneOf(late)])
      equal(await store.people.count({ status: [EventStatus.DONE] }), 2)
    },
  },
  {
    name: 'settle: rows read without a claim are settled while the owner has its lock',
    needs: ['people'],
    async run({ store }) {
      const row = await polledRow(store)
      await settleOne(store, row, { kind: 'done' }, owner)

      const settled = await readRow(store, row)
      deepEqual([settled.status, settled.deliveries], [EventStatus.DONE, 1])
      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
    },
  },
  {
    name: 'settle: rows read without a claim are refused without the lock, and with a wrong one',
    needs: ['people'],
    async run({ store }) {
      const row = await polledRow(store)

      for (const stranger of [undefined, { ...owner, token: 'b' }, { ...owner, lock: 'other' }]) {
        deepEqual(await store.settle({ settlements: [doneOf(row)], owner: stranger }), [doneOf(row)])
      }
      equal((await readRow(store, row)).status, EventStatus.NEW)
    },
  },
  {
    name: 'settle: rows read without a claim are refused once the lock has run out',
    needs: ['people'],
    async run({ store, wait }) {
      const row = await polledRow(store)
      await letRunOut(store, owner, wait)

      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
      equal((await readRow(store, row)).status, EventStatus.NEW)
    },
  },
  {
    name: 'settle: an owner whose lock was taken over cannot overrule its successor',
    needs: ['people'],
    async run({ store, wait }) {
      const row = await polledRow(store)
      await letRunOut(store, owner, wait)
      const successor = { ...owner, token: 'b' }
      await store.locks.acquire({ ...successor, ttlMs: 30_000 })

      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
      const [again] = (await store.pollPending({ owner: successor, limit: 1, held: null }))!
      equal(again!.deliveries > row.deliveries, true)
      await settleOne(store, again!, { kind: 'defer', delayMs: 0 }, successor)
      equal((await readRow(store, row)).status, EventStatus.NEW)
    },
  },
  {
    name: 'settle: an owner that released its lock can no longer settle',
    needs: ['people'],
    async run({ store }) {
      const row = await polledRow(store)
      await store.locks.release(owner)

      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
    },
  },
  {
    name: 'settle: a row read without a claim is refused once a process claimed it, with or without the lock',
    needs: ['people'],
    async run({ store }) {
      const row = await polledRow(store)
      const claimed = await claimOne(store, 'b')
      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
      await store.release([claimed])

      deepEqual(await store.settle({ settlements: [doneOf(row)], owner }), [doneOf(row)])
      equal((await readRow(store, row)).status, EventStatus.NEW)
    },
  },
  {
    name: 'settle: leased rows need no lock, in the same batch as rows that do',
    needs: ['people'],
    async run({ store }) {
      const leased = await insertAndClaim(store, 'a')
      const polled = await polledRow(store)
      await store.locks.release(owner)

      deepEqual(await store.settle({ settlements: [leased, polled].map(doneOf), owner }), [doneOf(polled)])
      equal((await readRow(store, leased)).status, EventStatus.DONE)
    },
  },
  {
    name: 'settle: if two processes settle one row at the same time, one is refused',
    needs: ['people'],
    needsAnother: true,
    async run({ store, another }) {
      const other = await another!()
      const row = await insertAndClaim(store, 'a')
      const refused = await Promise.all([
        store.settle({ settlements: [doneOf(row)] }),
        other.settle({ settlements: [doneOf(row)] }),
      ])

      deepEqual(refused.flat(), [doneOf(row)])
      equal((await readRow(store, row)).deliveries, 2)
    },
  },
]

/** One row and its two holders: `late` lost its lease to `current`. */
async function takenOver<Tx>(
  store: CompleteStore<Tx>,
  wait: (ms: number) => Promise<void>,
): Promise<{ late: Row; current: Row }> {
  await insertOne(store)
  const late = await claimOne(store, 'late', 50)
  await wait(60)
  const current = await claimOne(store, 'current')
  return { late, current }
}

/** Takes the lock, writes a row and reads it without a claim. */
async function polledRow<Tx>(store: CompleteStore<Tx>): Promise<Row> {
  await store.locks.acquire({ ...owner, ttlMs: 30_000 })
  await insertOne(store)
  return only((await store.pollPending({ owner, limit: 10, held: null })) ?? [])
}
