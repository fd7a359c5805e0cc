import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { EventStatus } from '../../../src/event/status.ts'
import type { Row } from '../../../src/store.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { doneOf, eventIds, insertRows, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { inProcesses } from './child-processes.ts'
import { MysqlDatabase } from './mysql-database.ts'

const lease = leaseOf('test')
const database = await MysqlDatabase.create('sharing')
const pool = database.mysql2Pool({ connectionLimit: 20 })
const store = mysqlStore({ client: pool })
after(() => database.drop())

describe('mysql store: many processes', () => {
  beforeEach(async () => {
    await pool.query('drop table if exists outbox_event, outbox_event_meta, outbox_event_idempotency')
    await store.migrate()
  })

  it('that claim at the same time never get the same row, and leave none', async () => {
    const rows = sampleRows(1_000)
    await insertRows(store, rows)
    const claimed = await inProcesses<string[]>(3, 'claim', database.name)

    deepEqual(claimed.flat().sort(), eventIds(rows).sort())
  })

  it('that migrate at the same time do it once', async () => {
    await pool.query('drop table outbox_event, outbox_event_meta, outbox_event_idempotency')
    await inProcesses(8, 'migrate', database.name)
    await insertRows(store, sampleRows(1))

    equal((await claim()).length, 1)
  })

  it('that find a migration broken off half-way finish it', async () => {
    await pool.query('drop table outbox_event_meta, outbox_event_idempotency')
    const row = sampleRow({ idempotencyKey: 'key' })
    await store.migrate()
    await insertRows(store, [row])

    deepEqual(eventIds(await claim()), [row.eventId])
  })

  it('that settle, renew and release the same rows at the same time never wait in a circle', async () => {
    const before = await deadlocks()
    for (let round = 0; round < 20; round += 1) {
      await insertRows(store, sampleRows(60))
      const rows = await claim(60)
      const shuffled = [...rows].reverse()
      await Promise.all([
        store.renew(shuffled, lease),
        settleDone(rows.slice(0, 40)),
        store.renew(rows, lease),
        store.release(shuffled.slice(0, 20)),
        store.settle(shuffled.slice(20).map((row) => ({ row, outcome: { kind: 'defer', delayMs: 30_000 } }))),
        store.renew(shuffled, lease),
      ])
    }

    equal(await deadlocks(), before)
  })

  it('a settlement is not refused because the lease was renewed at the same moment', async () => {
    const before = await deadlocks()
    await insertRows(store, sampleRows(300))
    for (let round = 0; round < 30; round += 1) {
      const rows = await claim(10)
      await Promise.all([store.renew(rows, lease), settleDone(rows), store.renew(rows, lease)])
    }

    equal(await store.count({ status: [EventStatus.DONE] }), 300)
    equal(await deadlocks(), before)
  })

  it('neither a claim nor anything else of the engine waits for a transaction that has written and not ended', async () => {
    await insertRows(store, sampleRows(20))
    const owner = { lock: 'relay', token: 'a' }
    await store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(3, { idempotencyKey: 'key' }).slice(0, 1), lease)
      await store.insert(tx, sampleRows(3), lease)

      const rows = await claim(30)
      equal(rows.length, 20)
      await store.renew(rows, lease)
      await store.release(rows.slice(0, 2))
      deepEqual(await store.settle(rows.slice(2, 6).map(doneOf)), [])
      const failure = { error: 'Error: no', counted: true }
      const outcomes = [
        { kind: 'retry', delayMs: 10, failure },
        { kind: 'dead', failure },
        { kind: 'delete' },
        { kind: 'block', failure },
      ] as const
      const batch = rows.slice(6).map((row, index) => ({ row, outcome: outcomes[index % 4]! }))
      deepEqual(await store.settle(batch), [])
      equal(await store.replay(rows), 4)
      await store.purge({
        doneOlderThanMs: 0,
        deadOlderThanMs: 0,
        anyOlderThanMs: 60_000,
        keysOlderThanMs: 0,
        limit: 100,
      })

      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      ok((await store.pollPending({ owner, limit: 100, held: null }))!.length > 0)
      await store.locks.acquire({ ...owner, ttlMs: 1 })
      ok(await acquireSoon(() => store.locks.acquire({ ...owner, token: 'b', ttlMs: 30_000 })))
    })
  })

  it('a writer does not wait for a claim that has not ended', async () => {
    await insertRows(store, sampleRows(10))
    const connection = await pool.getConnection()
    await connection.query('set transaction isolation level read committed')
    await connection.beginTransaction()
    await connection.query(
      'select seq from outbox_event force index (due) where due_at is not null for update skip locked',
    )
    await insertRows(store, sampleRows(3))

    equal((await claim(30)).length, 3)
    await connection.rollback()
    connection.release()
  })

  it('a pause holds although somebody is just about to change it', async () => {
    await insertRows(store, [sampleRow({ eventType: 'Paid' })])
    await store.controls.pause({ eventType: 'Paid' })
    const connection = await pool.getConnection()
    await connection.beginTransaction()
    await connection.query('delete from outbox_event_control')
    deepEqual(await claim(), [])

    await connection.rollback()
    connection.release()
    await store.controls.resume({ eventType: 'Paid' })
  })

  it('a takeover and a settlement of the last owner never both count', async () => {
    for (let round = 0; round < 20; round += 1) {
      const owner = { lock: 'takeover', token: `owner-${round}` }
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await insertRows(store, sampleRows(5))
      const rows = await store.pollPending({ owner, limit: 100, held: null })
      await store.locks.acquire({ ...owner, ttlMs: 1 })
      const [refused, taken] = await Promise.all([
        store.settle(rows!.map(doneOf), owner),
        acquireSoon(() => store.locks.acquire({ ...owner, token: 'successor', ttlMs: 30_000 })),
      ])
      await store.locks.release({ ...owner, token: 'successor' })

      ok(taken)
      const left = await store.query({ status: [EventStatus.NEW], limit: 100 })
      equal(left.length, refused.length)
      ok(left.every((row) => row.losses === 1))
      await settleDone(await claim())
    }
  })
})

function claim(limit = 100): Promise<readonly Row[]> {
  return store.claim({ lease, limit })
}

async function settleDone(rows: readonly Row[]): Promise<void> {
  await store.settle(rows.map(doneOf))
}

/** How many deadlocks the server has seen so far, also those after which the store tried again. */
async function deadlocks(): Promise<number> {
  const [rows] = await pool.query("show global status like 'Innodb_deadlocks'")
  return Number((rows as { Value: string }[])[0]!.Value)
}

async function acquireSoon(acquire: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) if (await acquire()) return true
  return false
}
