import { deepEqual, equal, ok } from 'node:assert/strict'
import type { NewRow, RowId } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  claimOne,
  insertAndClaim,
  insertRows,
  leaseOf,
  letRunOut,
  only,
  poll,
  pollOwner,
  readRow,
  replay,
  settleOne,
} from './check-steps.ts'
import { keyed } from './lane-checks.ts'
import { lanesOf, readLanes, takePart } from './lane-steps.ts'
import { sampleRow } from './sample-rows.ts'

const failure = { error: 'Error: no', counted: true }

/** The rows of one event for several destinations. */
function fanOut(destinations: readonly string[], fields: Partial<NewRow> = {}): readonly NewRow[] {
  const first = sampleRow(fields)
  return destinations.map((destination) => ({ ...first, destination }))
}

function destinationsOf(rows: readonly RowId[]): string[] {
  return rows.map(({ destination }) => destination).sort()
}

const rowChecks: readonly PartCheck[] = [
  {
    name: 'destinations: a claim for a destination takes its rows only, the empty one included',
    async run({ store }) {
      await insertRows(store, [...fanOut(['', 'kafka', 'mail']), ...fanOut(['kafka', 'mail'])])
      const claim = async (owner: string, destination?: string) =>
        destinationsOf(
          await store.claim({
            lease: leaseOf(owner),
            limit: 10,
            ...(destination !== undefined && { destination }),
          }),
        )

      deepEqual(await claim('a', 'mail'), ['mail', 'mail'])
      deepEqual(await claim('b', ''), [''])
      deepEqual(await claim('c', 'maildrop'), [])
      deepEqual(await claim('d'), ['kafka', 'kafka'])
    },
  },
  {
    name: 'destinations: a claim within a window may count rows for other destinations, and continues behind them',
    async run({ store }) {
      await insertRows(
        store,
        Array.from({ length: 5 }, () => sampleRow({ destination: 'mail' })),
      )
      await insertRows(store, [sampleRow({ destination: 'kafka' })])
      const request = { lease: leaseOf('a'), limit: 10, window: 3, destination: 'kafka' }
      let answer = await store.claimTypes(request)
      if (answer.rows.length === 0) {
        ok(answer.next, 'there is more to examine')
        answer = await store.claimTypes({ ...request, from: answer.next, window: 10 })
      }
      deepEqual(destinationsOf(answer.rows), ['kafka'])
      equal(answer.next, undefined)
    },
  },
  {
    name: 'destinations: a claim of types for a destination takes rows of both',
    async run({ store }) {
      await insertRows(store, [
        sampleRow({ destination: 'kafka' }),
        sampleRow({ destination: 'kafka', eventType: 'OrderPaid' }),
        sampleRow({ eventType: 'OrderPaid' }),
      ])
      const types = [{ aggregateType: 'Order', eventType: 'OrderPaid' }]
      const request = { lease: leaseOf('a'), limit: 10, window: 10, destination: 'kafka', types }
      const { rows } = await store.claimTypes(request)

      deepEqual(
        rows.map(({ destination, eventType }) => [destination, eventType]),
        [['kafka', 'OrderPaid']],
      )
    },
  },
  {
    name: 'destinations: a claim of named rows ignores the destination asked for',
    async run({ store }) {
      const row = sampleRow({ destination: 'mail' })
      await insertRows(store, [row])
      const request = { lease: leaseOf('a'), limit: 10, rows: [row], destination: 'kafka' }
      equal((await store.claim(request)).length, 1)
    },
  },
  {
    name: 'destinations: each row of an event has its own attempts, state and history',
    needs: ['people'],
    async run({ store }) {
      const [kafka, mail] = fanOut(['kafka', 'mail'])
      await insertRows(store, [kafka!, mail!])
      const lease = leaseOf('a')
      const [row] = await store.claim({ lease, limit: 1, destination: 'kafka' })
      await settleOne(store, row!, { kind: 'dead', failure })

      const dead = await readRow(store, kafka!)
      equal(dead.attempts, 1)
      equal(dead.lastError, 'Error: no')
      const untouched = await readRow(store, mail!)
      deepEqual([untouched.attempts, untouched.deliveries, untouched.lastError], [0, 0, null])
      equal((await store.people.attempts(kafka!)).length, 1)
      deepEqual(await store.people.attempts(mail!), [])
    },
  },
  {
    name: 'destinations: one row of an event is replayed alone',
    needs: ['people', 'actions'],
    async run({ store }) {
      const [kafka, mail] = fanOut(['kafka', 'mail'])
      await insertRows(store, [kafka!, mail!])
      for (const row of await store.claim({ lease: leaseOf('a'), limit: 10 })) {
        await settleOne(store, row, { kind: 'dead', failure })
      }
      const before = await readRow(store, mail!)
      equal(await replay(store, [kafka!]), 1)

      deepEqual(await readRow(store, mail!), before)
      equal((await claimOne(store, 'b')).destination, 'kafka')
    },
  },
  {
    name: 'destinations: an owner reads rows for its destination only',
    async run({ store }) {
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000 })
      await insertRows(store, [...fanOut(['', 'kafka']), ...fanOut(['kafka'])])

      deepEqual(destinationsOf(await poll(store, { destination: 'kafka' })), ['kafka', 'kafka'])
      deepEqual(destinationsOf(await poll(store, { destination: '' })), [''])
      deepEqual(destinationsOf(await poll(store)), ['', 'kafka', 'kafka'])
    },
  },
  {
    name: 'destinations: a takeover counts losses of its destination only, within the same bounds',
    needs: ['people'],
    async run({ store, wait }) {
      const rows = [...fanOut(['kafka', 'mail']), ...fanOut(['kafka', 'mail'])]
      await insertRows(store, rows)
      await store.locks.acquire({ ...pollOwner, ttlMs: 30_000, destination: 'kafka' })
      equal((await poll(store, { destination: 'kafka' })).length, 2)
      await letRunOut(store, pollOwner, wait)
      ok(await store.locks.acquire({ ...pollOwner, token: 'b', ttlMs: 30_000, destination: 'kafka' }))

      const losses = await Promise.all(rows.map(async (row) => (await readRow(store, row)).losses))
      deepEqual(losses, [1, 0, 1, 0])
    },
  },
  {
    name: 'destinations: lanes of a destination have its rows only, and a blocked key goes on for the others',
    needs: ['lanes', 'people'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const blocked = await insertAndClaim(store, 'b', { ...keyed('x'), destination: 'mail' })
      await settleOne(store, blocked, { kind: 'block', failure })
      const [kafka, mail] = fanOut(['kafka', 'mail'], keyed('x'))
      await insertRows(store, [kafka!, mail!])
      const waits = async (destination: string) => {
        const answer = await readLanes(store, owner, { destination, keys: ['x'] })
        return answer!.rows.map((row) => [row.destination, row.waitMs])
      }

      deepEqual(await waits('kafka'), [['kafka', 0]])
      deepEqual(await waits('mail'), [
        ['mail', Infinity],
        ['mail', 0],
      ])
      deepEqual(await waits(''), [])
    },
  },
  {
    name: 'destinations: a search for keys finds those of its destination, and may count others within its window',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await insertRows(store, [
        ...['p', 'q', 'r'].map((key) => ({ ...keyed(key), destination: 'mail' })),
        { ...keyed('s'), destination: 'kafka' },
        { ...sampleRow(), destination: 'kafka' },
      ])
      const found = await lanesOf(store, owner, { destination: 'kafka' })
      equal(found.length, 2)

      let answer = (await readLanes(store, owner, { destination: 'kafka', window: 2 }))!
      if (answer.rows.length === 0) {
        ok(answer.next, 'there is more to examine')
        answer = (await readLanes(store, owner, { destination: 'kafka', from: answer.next }))!
      }
      equal(answer.rows.length, 2)
    },
  },
  {
    name: 'destinations: a key is parked for one destination, and its rows for others are not held up',
    needs: ['lanes', 'orderingKeys'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await insertRows(store, fanOut(['', 'kafka', 'mail'], keyed('x')))
      await store.orderingKeys.park({ orderingKey: 'x', destination: 'mail' })
      const waits = async () => {
        const all: Record<string, number> = {}
        for (const destination of ['', 'kafka', 'mail']) {
          const { rows } = (await readLanes(store, owner, { destination, keys: ['x'] }))!
          all[destination] = only(rows).waitMs
        }
        return all
      }
      deepEqual(await waits(), { '': 0, kafka: 0, mail: Infinity })
      const parked = await store.orderingKeys.blocked({ limit: 10, destination: 'mail' })
      deepEqual(
        parked.map(({ orderingKey, isParked }) => [orderingKey, isParked]),
        [['x', true]],
      )
      deepEqual(await store.orderingKeys.blocked({ limit: 10 }), [])

      await store.orderingKeys.unpark({ orderingKey: 'x', destination: 'mail' })
      deepEqual(await waits(), { '': 0, kafka: 0, mail: 0 })
    },
  },
  {
    name: 'destinations: blocked, retry and skip are about the first row of a key for one destination',
    needs: ['people', 'orderingKeys'],
    async run({ store }) {
      const [kafka, mail] = fanOut(['kafka', 'mail'], keyed('x'))
      await insertRows(store, [kafka!, mail!, ...fanOut(['kafka', 'mail'], keyed('x'))])
      const claimed = only(await store.claim({ lease: leaseOf('a'), limit: 1, rows: [mail!] }))
      await settleOne(store, claimed, { kind: 'block', failure })
      const key = { orderingKey: 'x', destination: 'mail' }

      const { head, waiting } = only(await store.orderingKeys.blocked({ limit: 10, destination: 'mail' }))
      deepEqual([head?.eventId, head?.destination, waiting], [mail!.eventId, 'mail', 1])
      deepEqual(await store.orderingKeys.blocked({ limit: 10, destination: 'kafka' }), [])
      deepEqual(await store.orderingKeys.blocked({ limit: 10 }), [])
      equal(await store.orderingKeys.retry({ orderingKey: 'x', destination: 'kafka' }), false)
      equal(await store.orderingKeys.retry(key), true)
      equal((await readRow(store, mail!)).blockedAt, null)

      equal(await store.orderingKeys.skip({ ...key, reason: 'no' }), true)
      equal((await readRow(store, mail!)).lastError, 'no')
      equal((await readRow(store, kafka!)).lastError, null)
    },
  },
]

const routingChecks: readonly PartCheck[] = [
  {
    name: 'routing: a higher version is stored, and a lower one is not',
    needs: ['routing'],
    async run({ store }) {
      equal(await store.routing.current(), null)
      const first = { version: 2, content: '{"rules":[],"default":[""]}' }
      deepEqual(await store.routing.publish(first), first)
      deepEqual(await store.routing.publish({ version: 1, content: '{}' }), first)
      deepEqual(await store.routing.publish({ version: 2, content: '{}' }), first)
      deepEqual(await store.routing.current(), first)

      const next = {
        version: 10,
        content: '{"rules":[{"type":"ö*","aggregate":"*","to":["k"]}],"default":[]}',
      }
      deepEqual(await store.routing.publish(next), next)
      deepEqual(await store.routing.current(), next)
    },
  },
  {
    name: 'routing: a process that joins, and one that stays, gets the routing',
    needs: ['routing'],
    async run({ store }) {
      const node = { id: 'a', mode: 'multiNode', ttlMs: 30_000 }
      const routing = async () => {
        const answer = await store.nodes.join(node)
        return answer.kind === 'joined' ? answer.routing : answer.kind
      }
      equal(await routing(), null)
      const published = { version: 1, content: '{"rules":[],"default":[""]}' }
      await store.routing.publish(published)
      deepEqual(await routing(), published)
    },
  },
  {
    name: 'routing: of many processes that publish at once, the highest version stays',
    needs: ['routing'],
    async run({ store }) {
      const versions = [3, 1, 5, 2, 4]
      await Promise.all(
        versions.map((version) => store.routing.publish({ version, content: `{"default":["${version}"]}` })),
      )
      deepEqual(await store.routing.current(), { version: 5, content: '{"default":["5"]}' })
    },
  },
]

/** The promises about destinations. They hold as well once the table has a routing and its indexes. */
export const destinationChecks: readonly PartCheck[] = [
  ...rowChecks,
  ...rowChecks.map((check): PartCheck => ({
    ...check,
    name: check.name.replace('destinations:', 'destinations with a routing:'),
    needs: [...(check.needs ?? []), 'routing'],
    async run(context) {
      await context.store.routing.publish({ version: 1, content: '{"rules":[],"default":[""]}' })
      await context.store.migrate()
      await context.store.routing.current()
      await check.run(context)
    },
  })),
  ...routingChecks,
]
