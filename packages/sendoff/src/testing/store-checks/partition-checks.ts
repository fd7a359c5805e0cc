import { deepEqual, equal, ok } from 'node:assert/strict'
import { partitionCount } from '../../store/partition-of.ts'
import { EventStatus } from '../../store/event-status.ts'
import {
  type CompleteStore,
  participantLock,
  type OwnerFence,
  type PartitionShares,
} from '../../store/index.ts'
import type { PartCheck } from '../store-check.ts'
import {
  doneOf,
  eventIds,
  insertAndClaim,
  insertOne,
  insertRows,
  letRunOut,
  only,
  readRow,
} from './check-steps.ts'
import { readLanes, takePart } from './lane-steps.ts'
import { sampleRow, sampleRows } from './sample-rows.ts'

const allPartitions = Array.from({ length: partitionCount }, (_, number) => number)

export const partitionChecks: readonly PartCheck[] = [
  {
    name: 'partitions: a process with a participant lock takes part, and all partitions exist and are free at first',
    needs: ['partitions'],
    async run({ store }) {
      const owner = await takePart(store, 'a')
      await takePart(store, 'b')
      await store.locks.acquire({ lock: 'relay', token: 'c', ttlMs: 30_000 })
      const { participants, partitions, nextEndMs } = await sharesOf(store, owner)

      deepEqual([...participants].sort(), ['a', 'b'])
      deepEqual(
        partitions,
        Array.from({ length: partitionCount }, (_, partition) => ({ partition, owner: null, epoch: 0 })),
      )
      ok(nextEndMs > 20_000 && nextEndMs <= 30_000, `the lock of b ends in ${nextEndMs} ms`)
    },
  },
  {
    name: 'partitions: nextEndMs leaves out the caller’s own lock',
    needs: ['partitions'],
    async run({ store }) {
      equal((await sharesOf(store, await takePart(store, 'a'))).nextEndMs, Infinity)
    },
  },
  {
    name: 'partitions: acquire takes free ones, with an epoch that rises with every change of owner',
    needs: ['partitions'],
    async run({ store }) {
      const [a, b] = [await takePart(store, 'a'), await takePart(store, 'b')]
      deepEqual(await store.partitions.acquire({ owner: a, partitions: [3, 200] }), [
        { partition: 3, epoch: 1 },
        { partition: 200, epoch: 1 },
      ])
      await store.partitions.release({ owner: a, partitions: [{ partition: 200, epoch: 1 }] })
      deepEqual(await store.partitions.acquire({ owner: b, partitions: [200] }), [
        { partition: 200, epoch: 2 },
      ])

      deepEqual(await ownersOf(store, a), { 3: 'a 1', 200: 'b 2' })
    },
  },
  {
    name: 'partitions: release gives a partition up at the epoch that its owner names, and at no other',
    needs: ['partitions'],
    async run({ store }) {
      const [a, b] = [await takePart(store, 'a'), await takePart(store, 'b')]
      await store.partitions.acquire({ owner: a, partitions: [3, 4] })
      const first = { partition: 3, epoch: 1 }
      await store.partitions.release({ owner: a, partitions: [first] })
      await store.partitions.acquire({ owner: a, partitions: [3] })

      await store.partitions.release({ owner: a, partitions: [first, { partition: 4, epoch: 2 }] })
      deepEqual(await ownersOf(store, b), { 3: 'a 2', 4: 'a 1' })
    },
  },
  {
    name: 'partitions: an owned one is refused to every other process, and no other process can release it',
    needs: ['partitions'],
    async run({ store }) {
      const [a, b] = [await takePart(store, 'a'), await takePart(store, 'b')]
      await store.partitions.acquire({ owner: a, partitions: [7, 8] })
      await store.partitions.release({ owner: b, partitions: [{ partition: 7, epoch: 1 }] })

      deepEqual(await store.partitions.acquire({ owner: b, partitions: [7, 8, 9] }), [
        { partition: 9, epoch: 1 },
      ])
      deepEqual(
        await store.partitions.acquire({ owner: a, partitions: [7] }),
        [],
        'it is the owner’s already',
      )
      deepEqual(await ownersOf(store, a), { 7: 'a 1', 8: 'a 1', 9: 'b 1' })
    },
  },
  {
    name: 'partitions: of two processes that ask for the same at once, each partition goes to one',
    needs: ['partitions'],
    async run({ store }) {
      const owners = await Promise.all(['a', 'b', 'c'].map((token) => takePart(store, token)))
      const all = Array.from({ length: partitionCount }, (_, index) => index)
      await sharesOf(store, owners[0]!)
      const taken = await Promise.all(
        owners.map((owner) => store.partitions.acquire({ owner, partitions: all })),
      )

      const numbers = taken.flat().map(({ partition }) => partition)
      equal(new Set(numbers).size, numbers.length)
      const { partitions } = await sharesOf(store, owners[0]!)
      equal(partitions.filter(({ owner }) => owner !== null).length, numbers.length)
    },
  },
  {
    name: 'partitions: those of a participant that released its lock are free',
    needs: ['partitions'],
    async run({ store }) {
      const [a, b] = [await takePart(store, 'a'), await takePart(store, 'b')]
      await store.partitions.acquire({ owner: a, partitions: [1, 2] })
      await store.locks.release(a)

      deepEqual(await ownersOf(store, b), {})
      deepEqual(await store.partitions.acquire({ owner: b, partitions: [1] }), [{ partition: 1, epoch: 2 }])
    },
  },
  {
    name: 'partitions: those of a dead participant are free once another asks for the shares',
    needs: ['partitions'],
    async run({ store, wait }) {
      const a = await takePart(store, 'a')
      const b = await takePart(store, 'b')
      await store.partitions.acquire({ owner: a, partitions: [1, 2] })
      deepEqual(await store.partitions.acquire({ owner: b, partitions: [1] }), [])
      await letRunOut(store, a, wait)
      const { participants } = await sharesOf(store, b)

      deepEqual(participants, ['b'])
      deepEqual(await ownersOf(store, b), {})
      deepEqual(await store.partitions.acquire({ owner: b, partitions: [1] }), [{ partition: 1, epoch: 2 }])
      equal(await store.locks.renew({ ...a, ttlMs: 30_000 }), false)
    },
  },
  {
    name: 'partitions: a process that has lost its lock gets no shares, partitions or rows, and cannot hold any',
    needs: ['lanes', 'partitions'],
    async run({ store, wait }) {
      const a = await takePart(store, 'a', 50)
      await wait(60)

      equal(await store.partitions.shares(a), undefined)
      deepEqual(await store.partitions.acquire({ owner: a, partitions: [1] }), [])
      equal(await readLanes(store, a, {}), undefined)
      equal(await store.lanes.readAll({ owner: a, limit: 10 }), undefined)
      equal(await store.lanes.hold({ owner: a, rows: [] }), false)
    },
  },
  {
    name: 'partitions: a read of lanes renews the lock if renewMs is given, and only then',
    needs: ['lanes', 'partitions'],
    async run({ store, wait }) {
      const [a, b] = [await takePart(store, 'a', 400), await takePart(store, 'b', 400)]
      const c = await takePart(store, 'c', 400)
      await readLanes(store, a, { renewMs: 30_000 })
      await store.lanes.readAll({ owner: b, limit: 1, renewMs: 30_000 })
      await readLanes(store, c, {})
      await wait(420)

      deepEqual([...(await sharesOf(store, a)).participants].sort(), ['a', 'b'])
    },
  },
  {
    name: 'partitions: a row is settled only while its partition is the owner’s at the epoch at which it was read',
    needs: ['partitions', 'people'],
    async run({ store }) {
      const [a, b] = [await takePart(store, 'a'), await takePart(store, 'b')]
      const [first, second] = await writeLane(store, 'order-1', 2)
      await store.partitions.acquire({ owner: a, partitions: [9] })
      const settle = (
        row: typeof first,
        epoch: number,
        owner: OwnerFence,
        kind: 'done' | 'delete' = 'done',
      ) => store.settle({ settlements: [{ row: { ...row!, epoch }, outcome: { kind } }], owner })

      equal((await settle(first, 2, a)).length, 1, 'another epoch')
      equal((await settle(first, 1, b)).length, 1, 'another owner')
      equal((await settle(first, 1, a)).length, 0)
      await store.partitions.release({ owner: a, partitions: [{ partition: 9, epoch: 1 }] })
      equal((await settle(second, 1, a)).length, 1, 'released')
      await store.partitions.acquire({ owner: b, partitions: [9] })
      equal((await settle(second, 1, a, 'delete')).length, 1, 'an epoch before')
      equal((await settle(second, 1, b, 'delete')).length, 1, 'the new owner at the old epoch')
      equal((await settle(second, 2, b, 'delete')).length, 0)
    },
  },
  {
    name: 'partitions: settlements of several partitions go together, and each is judged by its own partition',
    needs: ['partitions', 'people'],
    async run({ store }) {
      const a = await takePart(store, 'a')
      await store.partitions.acquire({ owner: a, partitions: [1, 3] })
      const failure = { error: 'Error: no', counted: true }
      for (const [last, status] of [
        [{ kind: 'done' }, EventStatus.DONE],
        [{ kind: 'retry', delayMs: 0, failure }, EventStatus.RETRY],
      ] as const) {
        const rows = await insertRead(store, [
          sampleRow({ orderingKey: 'x', partitionNo: 1 }),
          sampleRow({ orderingKey: 'y', partitionNo: 2 }),
          sampleRow({ orderingKey: 'z', partitionNo: 3 }),
        ])
        const batch = rows.map((row, index) => ({
          row: { ...row, epoch: 1 },
          outcome: index === 2 ? last : ({ kind: 'done' } as const),
        }))

        deepEqual(await store.settle({ settlements: batch, owner: a }), [batch[1]])
        const states = await Promise.all(rows.map(async (row) => (await readRow(store, row)).status))
        deepEqual(states, [EventStatus.DONE, EventStatus.NEW, status])
      }
    },
  },
  {
    name: 'partitions: a row without a key belongs to the partition derived from its seq',
    needs: ['partitions', 'people'],
    async run({ store }) {
      const a = await takePart(store, 'a')
      const row = await insertOne(store)
      await store.partitions.acquire({ owner: a, partitions: [row.seq % partitionCount] })

      equal(
        (await store.settle({ settlements: [{ ...doneOf(row), row: { ...row, epoch: 2 } }], owner: a }))
          .length,
        1,
      )
      equal(
        (await store.settle({ settlements: [{ ...doneOf(row), row: { ...row, epoch: 1 } }], owner: a }))
          .length,
        0,
      )
    },
  },
  {
    name: 'partitions: a row that a vanished participant held counts a loss, and its fence rises',
    needs: ['lanes', 'partitions', 'people'],
    async run({ store, wait }) {
      const a = await takePart(store, 'a')
      const b = await takePart(store, 'b')
      const rows = await insertRead(store, sampleRows(4, { orderingKey: 'x', partitionNo: 1 }))
      await store.partitions.acquire({ owner: a, partitions: [1] })
      equal(await store.lanes.hold({ owner: a, rows: rows.slice(0, 3) }), true)
      await store.settle({
        settlements: [{ row: rows[2]!, outcome: { kind: 'defer', delayMs: 0 } }],
        owner: a,
      })
      await letRunOut(store, a, wait)
      await sharesOf(store, b)
      await sharesOf(store, b)

      const after = await Promise.all(rows.map((row) => readRow(store, row)))
      deepEqual(
        after.map(({ losses }) => losses),
        [1, 1, 0, 0],
      )
      deepEqual(
        after.map(({ deliveries }) => deliveries),
        [1, 1, 1, 0],
      )
    },
  },
  {
    name: 'partitions: a row that was released, or leased since, counts no loss when its last holder vanishes',
    needs: ['lanes', 'partitions', 'people'],
    async run({ store, wait }) {
      const a = await takePart(store, 'a')
      const b = await takePart(store, 'b')
      const [free] = await insertRead(store, [sampleRow()])
      await store.partitions.acquire({ owner: a, partitions: allPartitions })
      await store.lanes.hold({ owner: a, rows: [free!] })
      await store.lanes.hold({ owner: a, rows: [] })
      const leased = await insertAndClaim(store, 'c')
      await letRunOut(store, a, wait)
      await sharesOf(store, b)

      equal((await readRow(store, free!)).losses, 0)
      equal((await readRow(store, leased)).losses, 0)
    },
  },
  {
    name: 'partitions: a row in a partition that was released counts no loss when its last holder vanishes',
    needs: ['lanes', 'partitions', 'people'],
    async run({ store, wait }) {
      const a = await takePart(store, 'a')
      const b = await takePart(store, 'b')
      const [keyed] = await insertRead(store, sampleRows(1, { orderingKey: 'x', partitionNo: 1 }))
      const keyless = await insertOne(store)
      await store.partitions.acquire({ owner: a, partitions: allPartitions })
      await store.lanes.hold({ owner: a, rows: [keyed!, keyless] })
      await store.partitions.release({ owner: a, partitions: [{ partition: 1, epoch: 1 }] })
      await store.partitions.acquire({ owner: b, partitions: [1] })
      await letRunOut(store, a, wait)
      await sharesOf(store, b)

      equal((await readRow(store, keyed!)).losses, 0)
      equal((await readRow(store, keyed!)).deliveries, keyed!.deliveries)
      equal((await readRow(store, keyless)).losses, keyless.seq % partitionCount === 1 ? 0 : 1)
    },
  },
  {
    name: 'partitions: a takeover of a lock counts a loss for what its owner held, and acquiring it again keeps the record',
    needs: ['lanes', 'people'],
    async run({ store, wait }) {
      const relay = { lock: 'relay', token: 'a' }
      await store.locks.acquire({ ...relay, ttlMs: 30_000 })
      const [row] = await insertRead(store, [sampleRow()])
      await store.lanes.hold({ owner: relay, rows: [row!] })
      await store.locks.acquire({ ...relay, ttlMs: 30_000 })
      await letRunOut(store, relay, wait)
      await store.locks.acquire({ lock: 'relay', token: 'b', ttlMs: 30_000 })

      equal((await readRow(store, row!)).losses, 1)
      equal(only(eventIds([await readRow(store, row!)])), row!.eventId)
    },
  },
]

async function sharesOf<Tx>(store: CompleteStore<Tx>, owner: OwnerFence): Promise<PartitionShares> {
  const shares = await store.partitions.shares(owner)
  ok(shares, `${participantLock(owner.token)} was lost`)
  return shares
}

/** Returns the owner of each partition, as `token epoch` by number. */
async function ownersOf<Tx>(
  store: CompleteStore<Tx>,
  asker: OwnerFence,
): Promise<Readonly<Record<number, string>>> {
  const { partitions } = await sharesOf(store, asker)
  const owned = partitions.filter(({ owner }) => owner !== null)
  return Object.fromEntries(owned.map(({ partition, owner, epoch }) => [partition, `${owner} ${epoch}`]))
}

function writeLane<Tx>(store: CompleteStore<Tx>, orderingKey: string, count: number) {
  return insertRead(store, sampleRows(count, { orderingKey, partitionNo: 9 }))
}

async function insertRead<Tx>(store: CompleteStore<Tx>, rows: readonly ReturnType<typeof sampleRow>[]) {
  await insertRows(store, rows)
  return Promise.all(rows.map((row) => readRow(store, row)))
}
