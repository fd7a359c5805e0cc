import { deepEqual, equal, ok } from 'node:assert/strict'
import { partitionCount } from '../../store/partition-of.ts'
import type { CompleteStore, NewRow, Row } from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import { eventIds, insertAndClaim, insertOne, insertRows, only, replay, settleOne } from './check-steps.ts'
import { lanesOf, readLanes, takePart } from './lane-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const failure = { error: 'Error: no', counted: true }

export const laneChecks: readonly PartCheck[] = [
  {
    name: 'lanes: keys with due rows are found, and the rows of each are read in write order',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const rows = [keyed('x'), keyed('y'), keyed('x'), keyed('x'), keyed('y')]
      await insertRows(store, rows)
      const [x, y] = [eventIds([rows[0]!, rows[2]!, rows[3]!]), eventIds([rows[1]!, rows[4]!])]

      deepEqual(await lanesOf(store, owner), [x, y])
      deepEqual(await lanesOf(store, owner, { perKey: 2 }), [x.slice(0, 2), y])
    },
  },
  {
    name: 'lanes: rows are returned whole, and as they are stored',
    needs: ['lanes', 'people'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const stored = await insertOne(store, { ...keyed('x'), headers: '{"a":"b"}', tenantId: 'acme' })
      const { status, doneAt, lastError, lockedUntil, blockedAt, ...row } = stored
      deepEqual([status, doneAt, lastError, lockedUntil, blockedAt], [0, null, null, null, null])
      const answer = await readLanes(store, owner, {})

      deepEqual(answer, { rows: [{ ...row, waitMs: 0 }], next: undefined })
    },
  },
  {
    name: 'lanes: rows without a key are found one by one, and each is a lane of its own',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const rows = sampleRows(3)
      await insertRows(store, rows)

      deepEqual((await lanesOf(store, owner)).flat().sort(), eventIds(rows).sort())
      const except = [rows[1]!.eventId]
      deepEqual(
        (await lanesOf(store, owner, { except })).flat().sort(),
        eventIds([rows[0]!, rows[2]!]).sort(),
      )
    },
  },
  {
    name: 'lanes: only keys and rows of the named partitions are found',
    needs: ['lanes', 'people'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const [one, two] = [keyed('x', 1), keyed('y', 255)]
      await insertRows(store, [one, two])
      const keyless = await insertOne(store)
      const own = keyless.seq % partitionCount

      const found = async (partition: number) =>
        (await lanesOf(store, owner, { partitions: [partition] })).flat().sort()
      const idsIn = (partition: number, keyedRow: NewRow) =>
        eventIds(own === partition ? [keyedRow, keyless] : [keyedRow]).sort()
      deepEqual(await found(255), idsIn(255, two))
      deepEqual(await found(1), idsIn(1, one))
      ok((await found(own)).includes(keyless.eventId))
      deepEqual(await lanesOf(store, owner, { partitions: [] }), [])
    },
  },
  {
    name: 'lanes: excepted keys are not found, but are read if they are named',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const [x, y] = [keyed('x'), keyed('y')]
      await insertRows(store, [x, y])

      deepEqual(await lanesOf(store, owner, { except: ['x'] }), [[y.eventId]])
      deepEqual(await lanesOf(store, owner, { except: ['x', 'y'], keys: ['x'] }), [[x.eventId]])
      deepEqual(await lanesOf(store, owner, { except: ['y'], keys: ['x', 'nobody'] }), [[x.eventId]])
      deepEqual(await lanesOf(store, owner, { partitions: [], keys: ['y'], limit: 0 }), [[y.eventId]])
    },
  },
  {
    name: 'lanes: keys are compared as exact texts',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const keys = ['k', 'K', 'k ', "k'", 'k"', 'k\\', 'k,1', '{k}', 'ké', 'ke\u0301', '%', 'NULL']
      const rows = keys.map((key) => keyed(key))
      await insertRows(store, rows)

      for (const [index, key] of keys.entries()) {
        deepEqual(await lanesOf(store, owner, { limit: 0, keys: [key] }), [[rows[index]!.eventId]], key)
        const others = await lanesOf(store, owner, { except: [key] })
        equal(others.length, keys.length - 1, key)
      }
    },
  },
  {
    name: 'lanes: a search continues from place to place, and misses no key',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const rows = Array.from({ length: 12 }, (_, index) => keyed(`key-${String(index % 6)}`))
      await insertRows(store, rows)

      for (const bounds of [{ window: 3 }, { limit: 2 }, { window: 4, limit: 3 }]) {
        const seen = new Set<string>()
        let looks = 0
        let from: { availableAt: number; seq: number } | undefined
        do {
          const except = [...seen]
          const answer = await readLanes(store, owner, { ...bounds, except, ...(from && { from }) })
          answer!.rows.forEach((row) => seen.add(row.orderingKey!))
          from = answer!.next
          looks += 1
          ok(looks < 30, 'the look does not come to its end')
        } while (from !== undefined)
        equal(seen.size, 6)
        ok(looks > 1)
      }
    },
  },
  {
    name: 'lanes: a row in backoff, deferred, blocked or leased holds up its key, and waitMs says for how long',
    needs: ['lanes'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      for (const [key, outcome] of [
        ['backoff', { kind: 'retry', delayMs: 20_000, failure }],
        ['deferred', { kind: 'defer', delayMs: 20_000 }],
        ['blocked', { kind: 'block', failure }],
      ] as const) {
        await settleOne(store, await insertAndClaim(store, 'b', keyed(key)), outcome)
      }
      await insertAndClaim(store, 'b', keyed('leased'))
      const keys = ['backoff', 'deferred', 'blocked', 'leased']
      await insertRows(
        store,
        keys.map((key) => keyed(key)),
      )

      const found = await readLanes(store, owner, {})
      const named = await readLanes(store, owner, { keys, limit: 0 })
      for (const { rows } of [found!, named!]) {
        equal(rows.length, 8)
        const waits = new Map(keys.map((key) => [key, rows.filter((row) => row.orderingKey === key)]))
        for (const [key, [head, next]] of waits) {
          ok(head!.seq < next!.seq, key)
          equal(next!.waitMs, 0, key)
          if (key === 'blocked') equal(head!.waitMs, Infinity)
          else ok(head!.waitMs > 10_000 && head!.waitMs <= 30_000, `${key} ${head!.waitMs}`)
        }
      }
    },
  },
  {
    name: 'lanes: skipWaiting skips rows that have to wait',
    needs: ['lanes', 'people'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await settleOne(store, await insertAndClaim(store, 'b', keyed('x')), {
        kind: 'retry',
        delayMs: 20_000,
        failure,
      })
      await settleOne(store, await insertAndClaim(store, 'b', keyed('x')), { kind: 'block', failure })
      const next = await insertOne(store, keyed('x'))

      deepEqual(await lanesOf(store, owner, { skipWaiting: true, perKey: 1 }), [[next.eventId]])
    },
  },
  {
    name: 'lanes: a row written for later takes its place when it is due',
    needs: ['lanes'],
    async run({ store, wait }) {
      const owner = await takePart(store, 'a')
      const later = sampleRow({ ...keyed('x'), due: { inMs: 1_000 } })
      const now = keyed('x')
      await insertRows(store, [later, now])

      deepEqual(await lanesOf(store, owner), [[now.eventId]])
      await wait(1_050)
      deepEqual(await lanesOf(store, owner), [eventIds([later, now])])
    },
  },
  {
    name: 'lanes: a row whose lease ran out may be delivered, and comes with its lockedBy',
    needs: ['lanes', 'people'],
    async run({ store, wait }) {
      const owner = await takePart(store, 'a')
      await insertOne(store, { ...keyed('x'), claimed: true }, { owner: 'b', ms: 50 })
      await wait(60)
      const row = only((await readLanes(store, owner, {}))!.rows)

      deepEqual([row.waitMs, row.lockedBy], [0, 'b'])
    },
  },
  {
    name: 'lanes: settled rows are not read, and a replayed one has its old place',
    needs: ['lanes', 'people', 'actions'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      const dead = await insertAndClaim(store, 'b', keyed('x'))
      await settleOne(store, dead, { kind: 'dead', failure })
      await settleOne(store, await insertAndClaim(store, 'b', keyed('x')), { kind: 'done' })
      const next = await insertOne(store, keyed('x'))
      deepEqual(await lanesOf(store, owner), [[next.eventId]])

      await replay(store, [dead])
      deepEqual(await lanesOf(store, owner), [eventIds([dead, next])])
    },
  },
  {
    name: 'lanes: a paused row holds up its key, and so does parking the key',
    needs: ['lanes', 'orderingKeys', 'controls'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await insertRows(store, [
        keyed('x', 1, 'OrderPlaced'),
        keyed('x', 1, 'OrderPaid'),
        keyed('y', 1, 'OrderPaid'),
      ])
      await store.controls.pause({ eventType: 'OrderPlaced' })
      await store.orderingKeys.park({ orderingKey: 'y' })
      const waits = await waitsOf(store, owner)
      deepEqual(waits, { x: [Infinity, 0], y: [Infinity] })

      await store.controls.resume({ eventType: 'OrderPlaced' })
      await store.orderingKeys.unpark({ orderingKey: 'y' })
      deepEqual(await waitsOf(store, owner), { x: [0, 0], y: [0] })
    },
  },
  {
    name: 'lanes: a row without a key is not held up by parked keys, but by its own pause',
    needs: ['lanes', 'people', 'orderingKeys', 'controls'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await store.orderingKeys.park({ orderingKey: 'x' })
      const row = await insertOne(store)
      deepEqual(await lanesOf(store, owner), [[row.eventId]])

      await store.controls.pause({ eventType: row.eventType })
      deepEqual(await lanesOf(store, owner), [])
    },
  },
  {
    name: 'lanes: as one lane, all rows come in write order, whatever their keys and due times',
    needs: ['lanes', 'people'],
    async run({ store }) {
      const owner = { lock: 'relay', token: 'a' }
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      const backoff = await insertAndClaim(store, 'b', keyed('x'))
      await settleOne(store, backoff, { kind: 'retry', delayMs: 20_000, failure })
      await settleOne(store, await insertAndClaim(store, 'b'), { kind: 'done' })
      await insertOne(store, { due: { inMs: 20_000 } })
      const rows = [keyed('y'), sampleRow(), keyed('x')]
      await insertRows(store, rows)
      const read = await store.lanes.readAll({ owner, limit: 10 })

      deepEqual(eventIds(read!), eventIds([backoff, ...rows]))
      ok(read![0]!.waitMs > 10_000)
      deepEqual(
        read!.slice(1).map(({ waitMs }) => waitMs),
        [0, 0, 0],
      )
      const some = await store.lanes.readAll({ owner, limit: 2, afterSeq: read![0]!.seq })
      deepEqual(eventIds(some!), eventIds(rows.slice(0, 2)))
    },
  },
]

export function keyed(orderingKey: string, partitionNo = 5, eventType = 'OrderPlaced'): NewRow {
  return sampleRow({ orderingKey, partitionNo, eventType })
}

async function waitsOf<Tx>(
  store: CompleteStore<Tx>,
  owner: { lock: string; token: string },
): Promise<Record<string, number[]>> {
  const { rows } = (await readLanes(store, owner, {}))!
  const waits: Record<string, number[]> = {}
  for (const row of [...rows].sort((a: Row, b: Row) =>
    a.orderingKey! < b.orderingKey! ? -1 : a.seq - b.seq,
  )) {
    ;(waits[row.orderingKey!] ??= []).push(row.waitMs)
  }
  return waits
}
