import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type mysql from 'mysql2/promise'
import { monotonicUlids } from '../../../src/event/ulid.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import type { NewRow, PurgeRequest, Row } from '../../../src/store/index.ts'
import { type MysqlStore, mysqlStore } from '../../../src/stores/mysql/index.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'
import { MysqlDatabase } from './mysql-database.ts'

const dayMs = 86_400_000
const week: PurgeRequest = { doneOlderThanMs: 7 * dayMs, limit: 500 }
const lease = { owner: 'me', ms: 60_000 }
const failure = { error: 'Error: no', counted: true }

type Store = MysqlStore<mysql.PoolConnection>

describe('mysql store: time partitions', () => {
  let database: MysqlDatabase
  let pool: mysql.Pool
  let tables = 0

  before(async () => {
    database = await MysqlDatabase.create('partitions')
    pool = database.mysql2Pool()
  })
  after(() => database.drop())

  it('are made ahead by migrations and purges, however many processes do so', async () => {
    const { store, partitions, table } = await partitionedStore()
    equal((await partitions()).length, 6)
    await store.migrate()
    await Promise.all([store.purge(week), store.purge(week), store.migrate()])
    equal((await partitions()).length, 6)

    const last = (await partitions()).at(-3)!
    await pool.query(`alter table ${table} drop partition ${last}`)
    await store.purge(week)
    equal((await partitions()).length, 6)
    ok((await partitions()).includes(last))
  })

  it('are made ahead by every process that runs, also by one that purges nothing', async (t) => {
    const { store, partitions, table } = await partitionedStore()
    const clock = fakeClock()
    const outbox = await Outbox.writerOnly({ store, clock, logger: false }).start()
    t.after(() => outbox.close())
    const last = (await partitions()).at(-3)!
    await pool.query(`alter table ${table} drop partition ${last}`)
    await clock.advance(3_700_000)
    for (let look = 0; look < 500 && !(await partitions()).includes(last); look += 1) await delay(10)

    ok((await partitions()).includes(last))
  })

  it('take events by the time in their ids, and all others into the last one', async () => {
    const { store, partitionOf } = await partitionedStore()
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '')
    await write(store, [ulidAt(Date.now()), 'order-1', ulidAt(Date.now() + 90 * dayMs)])

    deepEqual(await partitionOf(`p${today}`), 1)
    deepEqual(await partitionOf('ahead'), 1)
    deepEqual(await partitionOf('rest'), 1)
  })

  it('are made out of what was written too far ahead', async () => {
    const { store, partitions, partitionOf, table } = await partitionedStore()
    for (const name of (await partitions()).slice(0, -2)) {
      await pool.query(`alter table ${table} drop partition ${name}`)
    }
    await write(store, [ulidAt(Date.now())])
    equal(await partitionOf('ahead'), 1)
    await store.migrate()

    equal(await partitionOf((await partitions())[0]!), 1)
    equal((await claim(store)).length, 1)
  })

  it('refuse an id that was used before, wherever it is', async () => {
    const { store } = await partitionedStore()
    const id = ulidAt(Date.now())
    await write(store, [id])

    await rejects(write(store, [id]), { code: 'OUTBOX_DUPLICATE_EVENT_ID', message: new RegExp(id) })
  })

  it('are dropped as a whole when all of their rows are done and old, with their history', async () => {
    const { store, partitions, addOld, age } = await partitionedStore()
    const old = await addOld(20)
    const [first] = await write(store, [ulidAt(old), ulidAt(old + 1), ulidAt(old + 2)])
    const rows = await claim(store)
    await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'done', failure } })) })
    equal((await store.people.attempts(first!)).length, 1)
    await store.purge(week)
    equal((await partitions()).length, 7, 'they are done, but not long ago')

    await age()
    const { deletedRows } = await store.purge(week)
    deepEqual([deletedRows, (await partitions()).length, await store.people.count({})], [3, 6, 0])
    deepEqual(await store.people.attempts(first!), [])
  })

  it('stay while a row is pending, blocked or dead, and are purged row by row', async () => {
    for (const outcome of [
      { kind: 'defer', delayMs: 60_000 },
      { kind: 'block', failure },
      { kind: 'dead', failure },
    ] as const) {
      const { store, partitions, addOld, age } = await partitionedStore()
      const old = await addOld(20)
      await write(store, [ulidAt(old), ulidAt(old + 1)])
      const [first, second] = await claim(store)
      await store.settle({
        settlements: [
          { row: first!, outcome },
          { row: second!, outcome: { kind: 'done' } },
        ],
      })
      await age()

      const { deletedRows } = await store.purge(week)
      deepEqual(
        [deletedRows, (await partitions()).length, await store.people.count({})],
        [1, 7, 1],
        outcome.kind,
      )
      await store.purge({ ...week, anyOlderThanMs: 7 * dayMs })
      deepEqual([(await partitions()).length, await store.people.count({})], [6, 0], outcome.kind)
    }
  })

  it('hold nobody up: one that is in use is left for the next time', async () => {
    const { store, partitions, addOld, table } = await partitionedStore()
    await addOld(20)
    const reader = await pool.getConnection()
    await reader.query('start transaction')
    await reader.query(`select 1 from ${table} limit 1`)
    await store.purge(week)
    equal((await partitions()).length, 7)
    await reader.query('rollback')
    reader.release()
    await store.purge(week)

    equal((await partitions()).length, 6)
  })

  it('leave connections as they were', async () => {
    const only = database.mysql2Pool({ connectionLimit: 1 })
    await only.query('set lock_wait_timeout = 77')
    const store = mysqlStore({ client: only, table: `events_${(tables += 1)}`, partitionBy: 'day' })
    await store.migrate()
    await store.purge(week)

    const [rows] = await only.query<mysql.RowDataPacket[]>('select @@lock_wait_timeout as seconds')
    equal(rows[0]!['seconds'], 77)
  })

  it('are decided when the table is made', async () => {
    const { table } = await partitionedStore()
    const refused = { code: 'OUTBOX_INVALID_OPTION', message: /partitionBy/ }
    await rejects(mysqlStore({ client: pool, table }).migrate(), refused)
    const plain = `events_${(tables += 1)}`
    await mysqlStore({ client: pool, table: plain }).migrate()

    await rejects(mysqlStore({ client: pool, table: plain, partitionBy: 'day' }).migrate(), refused)
  })

  it('can be brought in as SQL', async () => {
    const table = `events_${(tables += 1)}`
    const store = mysqlStore({ client: pool, table, partitionBy: 'month' })
    const connection = await database.mysql2Pool({ multipleStatements: true }).getConnection()
    await connection.query(store.schemaSql())
    connection.release()
    await write(store, [ulidAt(Date.now()), 'own'])
    await store.migrate()

    equal((await claim(store)).length, 2)
  })

  it('are claimed from by many at once without a row coming twice', async () => {
    const { store, table } = await partitionedStore()
    const next = monotonicUlids()
    const ids = Array.from({ length: 500 }, (_, index) => (index % 2 === 0 ? next() : `own-${index}`))
    await write(store, ids)
    const claimed: string[] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (owner) => {
        const other = mysqlStore({ client: pool, table, partitionBy: 'day' })
        while (claimed.length < ids.length) {
          const rows = await other.claim({ lease: { owner, ms: 60_000 }, limit: 20 })
          claimed.push(...rows.map(({ eventId }) => eventId))
        }
      }),
    )

    deepEqual(claimed.sort(), [...ids].sort())
  })

  async function partitionedStore() {
    const table = `events_${(tables += 1)}`
    const store = mysqlStore({ client: pool, table, partitionBy: 'day' })
    await store.migrate()

    const partitions = async (): Promise<string[]> => {
      const [rows] = await pool.query<mysql.RowDataPacket[]>(
        `select partition_name as name from information_schema.partitions
          where table_schema = database() and table_name = ? order by partition_ordinal_position`,
        [table],
      )
      return rows.map(({ name }) => String(name))
    }

    return {
      store,
      table,
      partitions,

      /** How many rows it has. */
      partitionOf: async (name: string): Promise<number> => {
        const [rows] = await pool.query<mysql.RowDataPacket[]>(
          `select count(*) as count from ${table} partition (${name})`,
        )
        return Number(rows[0]!['count'])
      },

      /** Adds a partition for a day so many days ago and all before, and answers the start of that day. */
      addOld: async (daysAgo: number): Promise<number> => {
        const today = Math.floor(Date.now() / dayMs) * dayMs
        const start = today - daysAgo * dayMs
        const [first] = await partitions()
        const bound = (time: number) => `values less than ('${ulidAt(time).slice(0, 10)}')`
        await pool.query(
          `alter table ${table} reorganize partition ${first} into (
             partition old ${bound(start + dayMs)}, partition ${first} ${bound(today + dayMs)})`,
        )
        return start
      },

      /** Lets everything in the table have happened twenty days earlier. */
      age: () =>
        pool.query(
          `update ${table} set created_at = created_at - interval 20 day, done_at = done_at - interval 20 day`,
        ),
    }
  }
})

async function write(store: Store, ids: readonly string[]): Promise<readonly NewRow[]> {
  const rows = ids.map((eventId) => sampleRow({ eventId }))
  await store.transaction((tx) => store.insert({ tx, rows, lease }))
  return rows
}

function claim(store: Store): Promise<readonly Row[]> {
  return store.claim({ lease, limit: 100 })
}

function ulidAt(time: number): string {
  return monotonicUlids(() => time)()
}
