import { equal, match, rejects } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type mysql from 'mysql2/promise'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { MysqlDatabase } from './mysql-database.ts'

const lease = { owner: 'test', ms: 30_000 }
const listeners = new ListenerRegistry()

describe('mysql store: bringing the schema in', () => {
  let database: MysqlDatabase
  let pool: mysql.Pool
  let tables = 0

  before(async () => {
    database = await MysqlDatabase.create('schema')
    pool = database.mysql2Pool({ multipleStatements: true })
  })
  after(() => database.drop())

  it('the SQL of the schema can be run again, also beside rows, and changes nothing then', async () => {
    for (const options of [{}, { partitionBy: 'day' }] as const) {
      const store = newStore(options)
      await pool.query(store.schemaSql())
      await write(store)
      await pool.query(store.schemaSql())
      await store.migrate()
      await pool.query(store.schemaSql())

      equal((await store.claim({ lease, limit: 10 })).length, 2)
    }
  })

  it('what was dropped by hand is made anew, whatever is left', async () => {
    const store = newStore()
    await store.migrate()
    const names = await tableNames()
    equal(names.length, 12)
    for (const name of names) {
      await pool.query(`drop table ${name}`)
      await store.migrate()
      await write(store)
      equal((await store.claim({ lease, limit: 10 })).length, 2, name)
    }
    for (const name of names) await pool.query(`drop table ${name}`)
    await store.migrate()
    await write(store)
    equal(await store.people.count({}), 2)
  })

  it('a start that may create nothing says what is missing, and which call makes it', async () => {
    const store = newStore()
    const start = () => Outbox.multiNode({ store, listeners, migrate: false, logger: false }).start()
    await rejects(start(), {
      code: 'OUTBOX_SCHEMA_NOT_READY',
      message: /lacks all of events_\d+, events_\d+_meta.*store\.migrate\(\).*store\.schemaSql\(\)/,
    })
    equal((await tableNames()).length, 0)

    await store.migrate()
    await pool.query(`update events_${tables}_meta set value = '0' where \`key\` = 'revision'`)
    await rejects(start(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /it has revision 0.*needs \d/ })
    await store.migrate()
    const outbox = await start()
    await outbox.close()
  })

  it('a table that is divided otherwise is refused with what it is and what to do', async () => {
    await newStore({ partitionBy: 'day' }).migrate()
    const table = `events_${tables}`
    const byWeek = mysqlStore({ client: pool, table, partitionBy: 'week' })
    let advice = ''
    for (const call of [() => byWeek.migrate(), () => byWeek.checkSchema()]) {
      await rejects(call, (error: Error & { code?: string }) => {
        equal(error.code, 'OUTBOX_INVALID_OPTION')
        match(
          error.message,
          /was made with partitionBy: 'day' of mysqlStore\. Give all stores on it partitionBy: 'day'/,
        )
        advice = /update .+(?=\.$)/.exec(error.message)![0]
        return true
      })
    }
    await pool.query(advice)
    await byWeek.migrate()
    await byWeek.purge({ doneOlderThanMs: 1, limit: 10 })
    await rejects(mysqlStore({ client: pool, table, partitionBy: 'day' }).migrate(), {
      message: /partitionBy: 'week'/,
    })
  })

  function newStore(options: { partitionBy?: 'day' } = {}) {
    tables += 1
    return mysqlStore({ client: pool, table: `events_${tables}`, ...options })
  }

  async function tableNames(): Promise<string[]> {
    const [rows] = await pool.query<mysql.RowDataPacket[]>(
      'select table_name as name from information_schema.tables where table_schema = database() and table_name like ?',
      [`events\\_${tables}%`],
    )
    return rows.map(({ name }) => String(name))
  }
})

async function write(store: ReturnType<typeof mysqlStore<mysql.Pool>>): Promise<void> {
  await store.transaction((tx) => store.insert({ tx, rows: sampleRows(2), lease }))
}
