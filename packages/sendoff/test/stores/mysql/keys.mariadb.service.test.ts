import { deepEqual, equal, rejects } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolConnection, RowDataPacket } from 'mysql2/promise'
import { partitionOf } from '../../../src/store/partition-of.ts'
import { type Outcome, participantLock, type Settlement } from '../../../src/store/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { insertOne, insertRows, readRow } from '../../../src/testing/store-checks/check-steps.ts'
import { lanesOf, takePart } from '../../../src/testing/store-checks/lane-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { MysqlDatabase } from './mysql-database.ts'

const database = await MysqlDatabase.create('keys')
const pool = database.mysql2Pool({ connectionLimit: 20 })
const store = mysqlStore({ client: pool })
const keyStore = store.orderingKeys
before(() => store.migrate())
after(() => database.drop())

describe('mysql store: locks of keys', () => {
  it('transactions that lock the same keys in opposite orders wait for each other, and not in a circle', async () => {
    // Which of these two comes first by name is not the order of their partitions.
    const keys = ['x', 'y', 'z', 'order-1', 'order-2']
    for (let round = 0; round < 20; round += 1) {
      const transactions = [keys, keys.toReversed(), keys.slice(2), keys].map((some) =>
        store.transaction((tx) => store.lanes.lock({ tx, keys: some })),
      )
      equal((await Promise.all(transactions)).length, 4)
    }
  })

  it('a deadlock by locking twice is told to its transaction, of which nothing is kept', async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const rows = sampleRows(2)
    const results = await Promise.allSettled([
      store.transaction(async (tx) => {
        await store.lanes.lock({ tx, keys: ['x'] })
        await store.insert({ tx, rows: [rows[0]!], lease: { owner: 'test', ms: 30_000 } })
        first.resolve()
        await second.promise
        // Swallowed, as by code that means well.
        await store.lanes.lock({ tx, keys: ['y'] }).catch(() => {})
      }),
      store.transaction(async (tx) => {
        await store.lanes.lock({ tx, keys: ['y'] })
        await store.insert({ tx, rows: [rows[1]!], lease: { owner: 'test', ms: 30_000 } })
        second.resolve()
        await first.promise
        await store.lanes.lock({ tx, keys: ['x'] }).catch(() => {})
      }),
    ])

    deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const kept = results.findIndex(({ status }) => status === 'fulfilled')
    const { reason } = results[1 - kept] as PromiseRejectedResult
    equal((reason as { code: string }).code, 'OUTBOX_ROLLED_BACK')
    deepEqual(
      await Promise.all(rows.map(({ eventId }) => store.people.count({ eventId }))),
      kept === 0 ? [1, 0] : [0, 1],
    )
  })

  it('a connection without a transaction is refused: nothing would stay locked', async () => {
    const connection = await pool.getConnection()
    const foreign = {
      query: async (text: string, values: unknown[]) => ({ rows: (await connection.query(text, values))[0] }),
    }
    try {
      await rejects(store.lanes.lock({ tx: foreign as unknown as PoolConnection, keys: ['x'] }), {
        code: 'OUTBOX_TRANSACTION_ENDED',
      })
      await connection.beginTransaction()
      await store.lanes.lock({ tx: foreign as unknown as PoolConnection, keys: ['x'] })
      await connection.rollback()
    } finally {
      connection.release()
    }
  })

  it('they are there again where somebody has emptied the table', async () => {
    await pool.query('truncate table outbox_event_lock')
    const [holds, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const steps: string[] = []
    const first = store.transaction(async (tx) => {
      await store.lanes.lock({ tx, keys: { partitions: [7, 9] } })
      holds.resolve()
      await goesOn.promise
      steps.push('first')
    })
    await holds.promise
    const second = store.transaction(async (tx) => {
      await store.lanes.lock({ tx, keys: { partitions: [9] } })
      steps.push('second')
    })
    await untilWaiting()
    goesOn.resolve()
    await Promise.all([first, second])

    deepEqual(steps, ['first', 'second'])
  })
})

describe('mysql store: partitions', () => {
  beforeEach(() => pool.query("delete from outbox_event_lock where name like 'partitions/%'"))

  it('the part of somebody whose time is over ends after the settlement that is under way', async () => {
    const a = await takePart(store, 'a', 100)
    const b = await takePart(store, 'b')
    const row = await insertOne(store, { orderingKey: 'x', partitionNo: partitionOf('x') })
    await store.lanes.hold({ owner: a, rows: [row] })
    const settlement = await pool.getConnection()
    await settlement.beginTransaction()
    await settlement.query('select 1 from outbox_event_lock where name = ? lock in share mode', [
      participantLock('a'),
    ])
    await sleep(120)
    await settlement.query('update outbox_event set deliveries = deliveries + 1 where seq = ?', [row.seq])
    deepEqual((await store.partitions.shares(b))!.participants.toSorted(), ['a', 'b'])

    await settlement.commit()
    settlement.release()
    deepEqual((await store.partitions.shares(b))!.participants, ['b'])
    const { losses, deliveries } = await readRow(store, row)
    deepEqual([losses, deliveries], [0, 1])
  })

  it('settlements of partitions at different epochs go together, each judged by its own', async () => {
    const owner = await takePart(store, 'a')
    await store.partitions.acquire({ owner, partitions: [21] })
    await store.partitions.release({ owner, partitions: [{ partition: 21, epoch: 1 }] })
    const owned = await store.partitions.acquire({ owner, partitions: [21, 22, 23] })
    deepEqual(
      owned.map(({ epoch }) => epoch),
      [2, 1, 1],
    )
    const settle = async (epochs: readonly (number | undefined)[]) => {
      const batch: Settlement[] = []
      for (const [index, epoch] of epochs.entries()) {
        const row = await insertOne(store, { orderingKey: `key-${index}`, partitionNo: 21 + index })
        batch.push({ row: { ...row, epoch }, outcome: { kind: 'done' } })
      }
      return (await store.settle({ settlements: batch, owner })).map(({ row }) =>
        batch.findIndex((each) => each.row === row),
      )
    }

    deepEqual(await settle([2, 1, 1]), [])
    deepEqual(await settle([2, 1, undefined]), [])
    deepEqual(await settle([1, 1, 1]), [0])
    deepEqual(await settle([2, 2, 1]), [1])
    deepEqual(await settle([7, 8, undefined]), [0, 1])
  })

  it('rows written for later do not keep those behind them out of a lane', async () => {
    const owner = await takePart(store, 'a')
    const key = { orderingKey: 'later', partitionNo: partitionOf('later') }
    await insertRows(store, [
      ...sampleRows(5, { ...key, due: { inMs: 60_000 } }),
      ...sampleRows(2, key),
      ...sampleRows(1, { ...key, due: { inMs: 60_000 } }),
      sampleRow(key),
    ])
    const [lane] = await lanesOf(store, owner, { keys: ['later'], limit: 0, perKey: 3 })

    equal(lane!.length, 3)
    for (const perKey of [1, 2, 20]) {
      const [some] = await lanesOf(store, owner, { keys: ['later'], limit: 0, perKey })
      deepEqual(some, lane!.slice(0, perKey))
    }
  })

  it('a blocked row that is settled is blocked no longer, whatever became of it', async () => {
    const owner = await takePart(store, 'a')
    const rows = await Promise.all(Array.from({ length: 3 }, () => insertOne(store)))
    const failure = { error: 'Error: no', counted: true }
    const settle = (outcomes: readonly Outcome[], deliveries: number) =>
      store.settle({
        settlements: rows.map((row, index) => ({ row: { ...row, deliveries }, outcome: outcomes[index]! })),
        owner,
      })
    const blockedAt = async () =>
      (await Promise.all(rows.map((row) => readRow(store, row)))).map((row) => row.blockedAt !== null)

    for (const outcome of [
      { kind: 'done' },
      { kind: 'dead', failure },
      { kind: 'retry', delayMs: 0, failure },
    ] as const) {
      const { deliveries } = await readRow(store, rows[0]!)
      deepEqual(
        await settle(
          rows.map(() => ({ kind: 'block', failure })),
          deliveries,
        ),
        [],
      )
      deepEqual(await blockedAt(), [true, true, true])
      deepEqual(
        await settle(
          rows.map(() => outcome),
          deliveries + 1,
        ),
        [],
      )
      deepEqual(await blockedAt(), [false, false, false], outcome.kind)
      await pool.query('update outbox_event set status = 0')
    }
  })

  it('more keys than one statement takes are read, each as it is', async () => {
    const owner = await takePart(store, 'a')
    const keys = Array.from({ length: 230 }, (_, index) => `many-${index}`)
    const rows = [...keys, ...keys].map((orderingKey) => sampleRow({ orderingKey, partitionNo: 1 }))
    await insertRows(store, rows)
    const lanes = await lanesOf(store, owner, { keys, limit: 0 })

    equal(lanes.length, keys.length)
    deepEqual([...new Set(lanes.map((lane) => lane.length))], [2])
  })

  it('keys that differ in spaces at their end are parked each by itself', async () => {
    for (const key of ['p', 'p ', 'P']) await keyStore.park({ orderingKey: key })
    await keyStore.unpark({ orderingKey: 'p' })

    deepEqual(
      (await keyStore.blocked({ limit: 10 })).map(({ orderingKey }) => orderingKey),
      ['P', 'p '],
    )
    for (const key of ['p ', 'P']) await keyStore.unpark({ orderingKey: key })
  })
})

/** Resolves when a transaction in this database waits for the lock of another. */
async function untilWaiting(): Promise<void> {
  for (;;) {
    const [rows] = await pool.query<RowDataPacket[]>(`
      select 1
        from information_schema.innodb_trx
        join information_schema.processlist on id = trx_mysql_thread_id
       where trx_state = 'LOCK WAIT'
         and db = database()`)
    if (rows.length > 0) return
    // Asked again within a tenth of a second, the server would answer the same.
    await sleep(110)
  }
}
