import { deepEqual, equal, ok } from 'node:assert/strict'
import { EventStatus } from '../../store/event-status.ts'
import {
  type CompleteStore,
  type LookFilter,
  maxFailureText,
  type NewRow,
  type ScanOrder,
  type ScanPlace,
} from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  assertBetween,
  eventIds,
  insertAndClaim,
  insertAndSettle,
  insertOne,
  insertRows,
  leaseOf,
  only,
  settleOne,
  storeTime,
} from './check-steps.ts'
import { keyed } from './lane-checks.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const failure = { error: 'TypeError: no such order', counted: true }

export const lookChecks: readonly PartCheck[] = [
  {
    name: 'looks: describe returns the same name for the same table',
    needs: ['looks'],
    needsAnother: true,
    async run({ store, another }) {
      const first = await store.looks.describe()
      ok(first.kind !== '' && first.name !== '')
      deepEqual(await (await another!()).looks.describe(), first)
    },
  },
  {
    name: 'looks: tally counts rows by status, event type and destination',
    needs: ['people', 'looks'],
    async run({ store }) {
      await insertRows(store, sampleRows(2, { eventType: 'Placed' }))
      await insertRows(store, [sampleRow({ eventType: 'Placed', destination: 'mail' })])
      await insertAndSettle(store, { kind: 'dead', failure }, { eventType: 'Paid' })
      await insertAndSettle(store, { kind: 'done' }, { eventType: 'Paid' })
      await insertAndSettle(store, { kind: 'block', failure }, { eventType: 'Paid' })
      await insertAndSettle(store, { kind: 'retry', delayMs: 20_000, failure }, { eventType: 'Paid' })
      const { pending, dead, all, blocked } = await store.looks.tally({ bound: 10 })

      deepEqual(groupsOf(pending), [
        [EventStatus.NEW, 'Paid', '', 1],
        [EventStatus.NEW, 'Placed', '', 2],
        [EventStatus.NEW, 'Placed', 'mail', 1],
        [EventStatus.RETRY, 'Paid', '', 1],
      ])
      deepEqual(groupsOf(dead), [[EventStatus.DEAD, 'Paid', '', 1]])
      deepEqual(
        groupsOf(all).filter(([status]) => status === EventStatus.DONE),
        [[EventStatus.DONE, 'Paid', '', 1]],
      )
      deepEqual([pending.total, dead.total, all.total, blocked], [5, 1, 7, 1])
      deepEqual([pending.isExact, dead.isExact, all.isExact], [true, true, true])
    },
  },
  {
    name: 'looks: tally estimates what it does not count, and says so',
    needs: ['looks'],
    async run({ store }) {
      await insertRows(store, sampleRows(30))
      const { pending } = await store.looks.tally({ bound: 10 })
      const counted = pending.groups.reduce((sum, { count }) => sum + count, 0)

      if (pending.isExact) equal(pending.total, 30)
      else ok(counted <= 11 && pending.total > 10, `${counted} counted, ${pending.total} estimated`)
    },
  },
  {
    name: 'looks: tally counts dead rows exactly, however many blocked ones are newer',
    needs: ['people', 'looks'],
    async run({ store }) {
      for (let row = 0; row < 2; row++) await insertAndSettle(store, { kind: 'dead', failure })
      for (let row = 0; row < 5; row++) await insertAndSettle(store, { kind: 'block', failure })
      const { dead, blocked } = await store.looks.tally({ bound: 3 })

      deepEqual([dead.total, dead.isExact], [2, true])
      ok(blocked >= 3 && blocked <= 5, `${blocked} blocked`)
    },
  },
  {
    name: 'looks: tally counts the rows of an empty table, and finds none due',
    needs: ['looks'],
    async run({ store }) {
      const { pending, dead, all, blocked, parked, oldestDue } = await store.looks.tally({ bound: 10 })
      for (const part of [pending, dead, all]) deepEqual(part, { groups: [], total: 0, isExact: true })
      deepEqual([blocked, parked, oldestDue], [0, [], undefined])
      equal((await store.looks.bound()).seq, 0)
    },
  },
  {
    name: 'looks: tally names the parked ordering keys',
    needs: ['looks', 'orderingKeys'],
    async run({ store }) {
      for (const key of ['b', 'a', 'c']) await store.orderingKeys.park({ orderingKey: key })
      await store.orderingKeys.unpark({ orderingKey: 'c' })
      deepEqual((await store.looks.tally({ bound: 10 })).parked, ['a', 'b'])
    },
  },
  {
    name: "looks: tally returns the database's time, and the row that has been due for the longest time",
    needs: ['people', 'looks'],
    async run({ store, wait }) {
      const row = await insertOne(store, { eventType: 'Placed', destination: 'mail' })
      await wait(20)
      await insertOne(store)
      await insertOne(store, { due: { inMs: 20_000 } })
      const before = await storeTime(store)
      const { at, oldestDue } = await store.looks.tally({ bound: 10 })

      assertBetween(at, before, await storeTime(store))
      deepEqual(oldestDue, {
        eventId: row.eventId,
        destination: 'mail',
        eventType: 'Placed',
        availableAt: row.availableAt,
      })
    },
  },
  {
    name: 'looks: bound returns the highest seq of all rows, whatever their states',
    needs: ['people', 'looks'],
    async run({ store }) {
      await insertOne(store)
      const last = await insertAndSettle(store, { kind: 'done' })
      const before = await storeTime(store)
      const bound = await store.looks.bound()

      ok(bound.seq >= last.seq, `${bound.seq} is at least ${last.seq}`)
      assertBetween(bound.at, before, await storeTime(store))
    },
  },
  {
    name: 'looks: scan returns whole rows, newest or oldest first, page by page',
    needs: ['people', 'looks'],
    async run({ store }) {
      const rows = orderedRows(7)
      await insertRows(store, rows)
      const all = await store.people.query({ limit: 10 })
      for (const filter of [{}, { status: [EventStatus.NEW] }]) {
        const newest = await pages(store, filter, 'newest', 3)
        deepEqual(newest, eventIds(rows).reverse())
        deepEqual(await pages(store, filter, 'oldest', 2), eventIds(rows))
        const { rows: page, next } = await store.looks.scan(requestOf(filter, 'oldest', 10))
        deepEqual([page, next], [all, undefined])
      }
    },
  },
  {
    name: 'looks: scan keeps its place while rows are added and settled',
    needs: ['people', 'looks'],
    async run({ store }) {
      const rows = orderedRows(4, 1)
      await insertRows(store, rows)
      const first = await store.looks.scan(requestOf({ status: [EventStatus.NEW] }, 'newest', 2))
      await insertRows(store, orderedRows(2, 9))
      const held = await store.claim({ lease: leaseOf('a'), limit: 1, rows: [rows[3]!] })
      await settleOne(store, held[0]!, { kind: 'done' })

      const request = requestOf({ status: [EventStatus.NEW] }, 'newest', 2)
      const second = await store.looks.scan({ ...request, after: first.next! })
      deepEqual(eventIds(second.rows), [rows[1]!.eventId, rows[0]!.eventId])
    },
  },
  {
    name: 'looks: scan examines no more rows than its window, and returns where the next one continues',
    needs: ['looks'],
    async run({ store }) {
      const rows = orderedRows(6)
      const wanted = { ...rows[1]!, eventType: 'Rare' }
      await insertRows(store, [rows[0]!, wanted, ...rows.slice(2)])
      for (const filter of [{ eventType: 'Rare' }, { eventType: 'Rare', status: [EventStatus.NEW] }]) {
        const request = { ...requestOf(filter, 'newest', 5), window: 3 }
        const first = await store.looks.scan(request)
        deepEqual(first.rows, [])
        const second = await store.looks.scan({ ...request, after: first.next! })
        deepEqual(eventIds(second.rows), [wanted.eventId])
      }
    },
  },
  {
    name: 'looks: scan finds rows by each part of a filter, byte by byte',
    needs: ['people', 'looks'],
    async run({ store }) {
      const wanted = {
        eventType: 'Paid',
        destination: 'mail',
        aggregateType: 'Order',
        aggregateId: 'o-1',
        tenantId: 'north',
        orderingKey: 'k',
        partitionNo: 3,
      }
      const row = await insertOne(store, wanted)
      const upper = Object.entries(wanted).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.toUpperCase() : value,
      ])
      await insertOne(store, Object.fromEntries(upper) as Partial<NewRow>)
      const { partitionNo: _, ...filter } = wanted
      for (const [name, value] of Object.entries({ ...filter, eventId: row.eventId })) {
        await finds(store, { [name]: value }, [row.eventId])
        await finds(store, { [name]: value, status: [EventStatus.NEW] }, [row.eventId])
        await finds(store, { [name]: `${value}%` }, [])
      }
      await finds(store, { ...filter, destination: 'other' }, [])
    },
  },
  {
    name: 'looks: scan finds rows by state: dead, blocked, and several at once',
    needs: ['people', 'looks'],
    async run({ store }) {
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      const done = await insertAndSettle(store, { kind: 'done' })
      const blocked = await insertAndSettle(store, { kind: 'block', failure })
      const fresh = await insertOne(store)

      await finds(store, { status: [EventStatus.DEAD] }, [dead.eventId])
      await finds(store, { status: [EventStatus.DONE] }, [done.eventId])
      await finds(store, { isBlocked: true }, [blocked.eventId])
      await finds(store, { status: [EventStatus.NEW, EventStatus.RETRY] }, [blocked.eventId, fresh.eventId])
      await finds(store, { status: [EventStatus.DEAD, EventStatus.DONE] }, [dead.eventId, done.eventId])
    },
  },
  {
    name: 'looks: scan finds rows by the class of their last error, and by a text in it or in the payload',
    needs: ['people', 'looks'],
    async run({ store }) {
      const dead = await insertAndSettle(store, { kind: 'dead', failure })
      const other = await insertAndSettle(store, {
        kind: 'dead',
        failure: { error: 'TypeErrors: 100% no_such order', counted: true },
      })
      const fresh = await insertOne(store, { payload: '{"name":"A \\"B\\" 50%_"}' })

      await finds(store, { errorClass: 'TypeError' }, [dead.eventId])
      await finds(store, { errorClass: 'TypeError', status: [EventStatus.DEAD] }, [dead.eventId])
      await finds(store, { errorClass: 'Type' }, [])
      await finds(store, { text: 'such order' }, [dead.eventId, other.eventId])
      await finds(store, { text: '100%', status: [EventStatus.DEAD] }, [other.eventId])
      await finds(store, { text: '0%_"' }, [fresh.eventId])
      await finds(store, { text: 'o such' }, [dead.eventId])
    },
  },
  {
    name: 'looks: scan finds rows by the time of their writing',
    needs: ['people', 'looks'],
    async run({ store, wait }) {
      const first = await insertOne(store, { eventId: idAt(await storeTime(store), 1) })
      await wait(50)
      const second = await insertOne(store, { eventId: idAt(await storeTime(store), 2) })
      for (const status of [undefined, [EventStatus.NEW]]) {
        await finds(store, { status, since: second.createdAt }, [second.eventId])
        await finds(store, { status, until: second.createdAt }, [first.eventId])
        await finds(store, { status, since: first.createdAt, until: first.createdAt + 1 }, [first.eventId])
      }
    },
  },
  {
    name: 'looks: scan leaves out rows above a bound, and rows that ended after it',
    needs: ['people', 'looks'],
    async run({ store, wait }) {
      const early = await insertAndSettle(store, { kind: 'dead', failure })
      const late = await insertAndClaim(store, 'a')
      const bound = await store.looks.bound()
      await wait(20)
      await settleOne(store, late, { kind: 'dead', failure })
      await insertOne(store)

      await finds(store, { status: [EventStatus.DEAD], bound }, [early.eventId])
      await finds(store, { bound }, [early.eventId])
      await finds(store, { status: [EventStatus.NEW], bound }, [])
    },
  },
  {
    name: 'looks: failures groups dead rows by type, destination and error text',
    needs: ['people', 'looks'],
    async run({ store, wait }) {
      const die = (eventType: string, error: string) =>
        insertAndSettle(store, { kind: 'dead', failure: { error, counted: true } }, { eventType })
      const first = await die('Paid', 'Error: no')
      await wait(20)
      const last = await die('Paid', 'Error: no')
      await die('Placed', 'Error: no')
      await die('Paid', 'x'.repeat(maxFailureText + 10))
      const { groups, examined, isComplete } = await store.looks.failures({ newest: 10 })

      deepEqual([groups.length, examined, isComplete], [3, 4, true])
      const group = only(groups.filter(({ eventType, count }) => eventType === 'Paid' && count === 2))
      deepEqual(
        [group.error, group.destination, group.firstAt, group.lastAt],
        ['Error: no', '', first.doneAt, last.doneAt],
      )
      ok([first.eventId, last.eventId].includes(group.sample))
      ok(groups.some(({ error }) => error === 'x'.repeat(maxFailureText)))
    },
  },
  {
    name: 'looks: failures keeps error classes apart, and a sample has the error text of its group',
    needs: ['people', 'looks'],
    async run({ store }) {
      const errors = ['Http404Error: order 17', 'Http404Error: order 8', 'Http500Error: order 9']
      const written = new Map<string, string>()
      for (const error of errors) {
        const row = await insertAndSettle(store, { kind: 'dead', failure: { error, counted: true } })
        written.set(row.eventId, error)
      }
      const { groups } = await store.looks.failures({ newest: 10 })

      const counts = new Map<string, number>()
      for (const { error, count, sample } of groups) {
        equal(error, written.get(sample))
        const [errorClass = ''] = error.split(':')
        counts.set(errorClass, (counts.get(errorClass) ?? 0) + count)
      }
      deepEqual([...counts].sort(), [
        ['Http404Error', 2],
        ['Http500Error', 1],
      ])
    },
  },
  {
    name: 'looks: failures examines the newest dead rows, and says if there are more',
    needs: ['people', 'looks'],
    async run({ store }) {
      for (const eventType of ['Old', 'Mid', 'New']) {
        await insertAndSettle(store, { kind: 'dead', failure }, { eventType })
      }
      const { groups, examined, isComplete } = await store.looks.failures({ newest: 2 })

      deepEqual(
        [groups.map(({ eventType }) => eventType).sort(), examined, isComplete],
        [['Mid', 'New'], 2, false],
      )
    },
  },
  {
    name: 'looks: looking at partitions changes nothing, and names no dead participant',
    needs: ['people', 'lanes', 'partitions'],
    async run({ store, wait }) {
      const owner = { lock: 'partitions/a', token: 'a' }
      await store.locks.acquire({ ...owner, ttlMs: 60_000 })
      await store.partitions.acquire({ owner, partitions: [1] })
      const row = await insertOne(store, keyed('x'))
      await store.lanes.hold({ owner, rows: [row] })
      const living = await store.partitions.look()
      deepEqual([living.participants, living.partitions[1]!.owner], [['a'], 'a'])
      equal(living.partitions.length, 256)

      await store.locks.renew({ ...owner, ttlMs: 20 })
      await wait(40)
      const dead = await store.partitions.look()
      deepEqual([dead.participants, dead.partitions[1]!.owner, dead.nextEndMs], [[], null, Infinity])
      deepEqual(only(await store.people.query({ limit: 10 })), row)
    },
  },
]

function groupsOf(part: { readonly groups: CompleteTally }): (string | number)[][] {
  return part.groups
    .map(({ status, eventType, destination, count }) => [status, eventType, destination, count])
    .sort((a, b) => (String(a) < String(b) ? -1 : 1))
}

type CompleteTally = Awaited<ReturnType<CompleteStore<never>['looks']['tally']>>['pending']['groups']

function requestOf(filter: LookFilter, order: ScanOrder, limit: number) {
  return { filter, order, limit, window: 1_000 }
}

/** Rows whose ids rise in write order. */
function orderedRows(count: number, from = 0): NewRow[] {
  return Array.from({ length: count }, (_, index) =>
    sampleRow({ eventId: `01M5000000000000000000000${from + index}` }),
  )
}

/** Returns an event id that begins with a time, as those of writers do. */
function idAt(time: number, number: number): string {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const digits = time.toString(32).padStart(10, '0')
  const start = Array.from(digits, (digit) => alphabet[Number.parseInt(digit, 32)]).join('')
  return `${start}${String(number).padStart(16, '0')}`
}

async function pages<Tx>(
  store: CompleteStore<Tx>,
  filter: LookFilter,
  order: ScanOrder,
  limit: number,
): Promise<string[]> {
  const found: string[] = []
  let after: ScanPlace | undefined
  do {
    const { rows, next } = await store.looks.scan({ ...requestOf(filter, order, limit), after })
    found.push(...eventIds(rows))
    after = next
  } while (after !== undefined)
  return found
}

async function finds<Tx>(
  store: CompleteStore<Tx>,
  filter: LookFilter,
  expected: readonly string[],
): Promise<void> {
  const { rows, next } = await store.looks.scan(requestOf(filter, 'oldest', 10))
  deepEqual([eventIds(rows).sort(), next], [[...expected].sort(), undefined], JSON.stringify(filter))
}
