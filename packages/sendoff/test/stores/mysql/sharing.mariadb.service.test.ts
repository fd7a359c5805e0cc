import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'mysql2/promise'
import { EventStatus } from '../../../src/store/event-status.ts'
import { participantLock, type Row } from '../../../src/store/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { isDeadlock } from '../../../src/stores/mysql/mysql-errors.ts'
import {
  doneOf,
  eventIds,
  insertRows,
  leaseOf,
  replay,
} from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { Gate } from '../../fixtures/gate.ts'
import { inProcesses } from '../child-processes.ts'
import { MysqlDatabase } from './mysql-database.ts'

const script = new URL('mysql-process.ts', import.meta.url)

const lease = leaseOf('test')
const database = await MysqlDatabase.create('sharing')
/** How many statements of the pool met a deadlock, also those after which the store tried again. */
let deadlocks = 0
const pool = countingDeadlocks(database.mysql2Pool({ connectionLimit: 20 }))
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
    const claimed = await inProcesses<string[]>(script, 3, 'claim', database.name)

    deepEqual(claimed.flat().sort(), eventIds(rows).sort())
  })

  it('that migrate at the same time do it once', async () => {
    await pool.query('drop table outbox_event, outbox_event_meta, outbox_event_idempotency')
    await inProcesses(script, 8, 'migrate', database.name)
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
    const before = deadlocks
    for (let round = 0; round < 20; round += 1) {
      await insertRows(store, sampleRows(60))
      const rows = await claim(60)
      const shuffled = [...rows].reverse()
      await Promise.all([
        store.renew({ rows: shuffled, lease }),
        settleDone(rows.slice(0, 40)),
        store.renew({ rows, lease }),
        store.release(shuffled.slice(0, 20)),
        store.settle({
          settlements: shuffled
            .slice(20)
            .map((row) => ({ row, outcome: { kind: 'defer', delayMs: 30_000 } })),
        }),
        store.renew({ rows: shuffled, lease }),
      ])
    }

    equal(deadlocks, before)
  })

  it('a settlement is not refused because the lease was renewed at the same moment', async () => {
    const before = deadlocks
    await insertRows(store, sampleRows(300))
    for (let round = 0; round < 30; round += 1) {
      const rows = await claim(10)
      await Promise.all([store.renew({ rows, lease }), settleDone(rows), store.renew({ rows, lease })])
    }

    equal(await store.people.count({ status: [EventStatus.DONE] }), 300)
    equal(deadlocks, before)
  })

  it('neither a claim nor anything else of the engine waits for a transaction that has written and not ended', async () => {
    await insertRows(store, sampleRows(20))
    const owner = { lock: 'relay', token: 'a' }
    await store.transaction(async (tx) => {
      await store.insert({ tx, rows: sampleRows(3, { idempotencyKey: 'key' }).slice(0, 1), lease })
      await store.insert({ tx, rows: sampleRows(3), lease })

      const rows = await claim(30)
      equal(rows.length, 20)
      await store.renew({ rows, lease })
      await store.release(rows.slice(0, 2))
      deepEqual(await store.settle({ settlements: rows.slice(2, 6).map(doneOf) }), [])
      const failure = { error: 'Error: no', counted: true }
      const outcomes = [
        { kind: 'retry', delayMs: 10, failure },
        { kind: 'dead', failure },
        { kind: 'delete' },
        { kind: 'block', failure },
      ] as const
      const batch = rows.slice(6).map((row, index) => ({ row, outcome: outcomes[index % 4]! }))
      deepEqual(await store.settle({ settlements: batch }), [])
      equal(await replay(store, rows), 4)
      await store.purge({
        doneOlderThanMs: 0,
        deadOlderThanMs: 0,
        anyOlderThanMs: 60_000,
        idempotencyKeysOlderThanMs: 0,
        limit: 100,
      })

      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      ok((await store.pollPending({ owner, limit: 100, held: null }))!.length > 0)
      await store.locks.acquire({ ...owner, ttlMs: 1 })
      ok(await acquireSoon(() => store.locks.acquire({ ...owner, token: 'b', ttlMs: 30_000 })))
    })
  })

  it('neither a writer nor another claim waits for a claim that has not ended', async () => {
    const gate = new Gate()
    const reached = new Gate()
    const gated = mysqlStore({ client: gatedPool(/set losses/, reached, gate) })
    const [early, late] = [sampleRows(10), sampleRows(3)]
    await insertRows(store, early)
    const slow = gated.claim({ lease: leaseOf('slow'), limit: 30 })
    await reached.passed
    const impatient = mysqlStore({ client: impatientPool() })
    await insertRows(impatient, late)
    const fast = await impatient.claim({ lease, limit: 30 })
    gate.open()

    deepEqual(eventIds(await slow), eventIds(early))
    deepEqual(eventIds(fast), eventIds(late))
  })

  it('a settlement that falls victim to a deadlock is tried again', async () => {
    await insertRows(store, sampleRows(2))
    const rows = await claim(2)
    const [low, high] = rows.map((row) => row.seq)
    const before = deadlocks
    const other = await pool.getConnection()
    await other.query('create table if not exists ballast (id int) engine = InnoDB')
    await other.beginTransaction()
    // The server gives up whichever of the two has done less.
    await other.query('insert into ballast values (1), (2), (3), (4), (5), (6), (7), (8)')
    await other.query(`select 1 from outbox_event where seq = ${high} for update`)
    const settled = store.settle({
      settlements: rows.map((row) => ({ row, outcome: { kind: 'defer', delayMs: 30_000 } })),
    })
    await untilWaiting()
    await other.query(`select 1 from outbox_event where seq = ${low} for update`)
    await other.rollback()
    other.release()

    deepEqual(await settled, [])
    equal(deadlocks, before + 1)
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

  it('a dead participant whose settlement has not ended keeps its partitions, and holds up no other', async () => {
    const [dead, living] = ['dead', 'living'].map((token) => ({ lock: participantLock(token), token }))
    const impatient = mysqlStore({ client: impatientPool() })
    await store.locks.acquire({ ...living!, ttlMs: 30_000 })
    await store.locks.acquire({ ...dead!, ttlMs: 30_000 })
    await store.partitions.acquire({ owner: dead!, partitions: [1, 2] })
    await store.locks.acquire({ ...dead!, ttlMs: 1 })
    const settling = await pool.getConnection()
    await settling.beginTransaction()
    await settling.query(`select 1 from outbox_event_lock where name = '${dead!.lock}' lock in share mode`)
    await untilLapsed(dead!.lock)

    const during = (await impatient.partitions.shares(living!))!
    deepEqual(during.participants.toSorted(), ['dead', 'living'])
    deepEqual([during.partitions[1]!.owner, during.nextEndMs > 0], ['dead', true])
    deepEqual(await impatient.partitions.acquire({ owner: living!, partitions: [1, 2] }), [])

    await settling.commit()
    settling.release()
    const after = (await impatient.partitions.shares(living!))!
    deepEqual([after.participants, after.partitions[1]!.owner], [['living'], null])
    await store.locks.release(living!)
  })

  it('a takeover and a settlement of the last owner never both count', async () => {
    for (let round = 0; round < 20; round += 1) {
      const owner = { lock: 'takeover', token: `owner-${round}` }
      await store.locks.acquire({ ...owner, ttlMs: 30_000 })
      await insertRows(store, sampleRows(5))
      const rows = await store.pollPending({ owner, limit: 100, held: null })
      await store.locks.acquire({ ...owner, ttlMs: 1 })
      const [refused, taken] = await Promise.all([
        store.settle({ settlements: rows!.map(doneOf), owner }),
        acquireSoon(() => store.locks.acquire({ ...owner, token: 'successor', ttlMs: 30_000 })),
      ])
      await store.locks.release({ ...owner, token: 'successor' })

      ok(taken)
      const left = await store.people.query({ status: [EventStatus.NEW], limit: 100 })
      equal(left.length, refused.length)
      ok(left.every((row) => row.losses === 1))
      await settleDone(await claim())
    }
  })
})

/** Stops at the first statement that matches, on whichever connection, until the gate is opened. */
function gatedPool(pattern: RegExp, reached: Gate, gate: Gate): Pool {
  const gated = database.mysql2Pool()
  const getConnection = gated.getConnection.bind(gated)
  gated.getConnection = async () => {
    const connection = await getConnection()
    const query = connection.query.bind(connection) as unknown as (options: { sql: string }) => Promise<never>
    connection.query = (async (options: { sql: string }) => {
      if (pattern.test(options.sql)) {
        reached.open()
        await gate.passed
      }
      return query(options)
    }) as never
    return connection
  }
  return gated
}

/** A pool whose statements give up waiting for a lock after one second. */
function impatientPool(): Pool {
  const impatient = database.mysql2Pool()
  impatient.pool.on('connection', (connection) => connection.query('set innodb_lock_wait_timeout = 1'))
  return impatient
}

function countingDeadlocks<Client extends { query(query: never): Promise<unknown> }>(client: Client): Client {
  const query = client.query.bind(client)
  client.query = (statement) =>
    query(statement).catch((error: unknown) => {
      if (isDeadlock(error)) deadlocks += 1
      throw error
    })
  if ('getConnection' in client) {
    const getConnection = (client as unknown as Pool).getConnection.bind(client)
    Object.assign(client, { getConnection: async () => countingDeadlocks(await getConnection()) })
  }
  return client
}

/** Resolves when a transaction in this database waits for the lock of another. */
async function untilWaiting(): Promise<void> {
  for (;;) {
    const [rows] = await pool.query(`
      select 1
        from information_schema.innodb_trx
        join information_schema.processlist on id = trx_mysql_thread_id
       where trx_state = 'LOCK WAIT'
         and db = database()`)
    if ((rows as unknown[]).length > 0) return
    // Asked again within a tenth of a second, the server would answer the same.
    await sleep(110)
  }
}

/** Resolves when the time of a lock is over by the clock of the database. */
async function untilLapsed(name: string): Promise<void> {
  const lapsed = `select 1 from outbox_event_lock where name = '${name}' and \`until\` <= utc_timestamp(3)`
  while (((await pool.query(lapsed))[0] as unknown[]).length === 0);
}

function claim(limit = 100): Promise<readonly Row[]> {
  return store.claim({ lease, limit })
}

async function settleDone(rows: readonly Row[]): Promise<void> {
  await store.settle({ settlements: rows.map(doneOf) })
}

async function acquireSoon(acquire: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) if (await acquire()) return true
  return false
}
