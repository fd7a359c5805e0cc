import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import type mysql from 'mysql2/promise'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { migrationsFor } from '../../../src/stores/mysql/schema/migrations.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { until } from '../../fixtures/outbox-fixture.ts'
import { MysqlDatabase } from './mysql-database.ts'

it('mysql store: a migration waits for a transaction that is in its way, and others go on meanwhile', async (t) => {
  const database = await MysqlDatabase.create('waiting')
  t.after(() => database.drop())
  const pool = database.mysql2Pool()
  const tables = mysqlTables(undefined, 'outbox_event', undefined)
  for (const statement of migrationsFor(tables)[0]!.statements) await pool.query(statement)
  await pool.query(`insert into ${tables.meta} values ('version', '1')`)
  const store = mysqlStore({ client: pool })
  const other = await pool.getConnection()
  await other.query('start transaction')
  for (const name of [tables.node, tables.audit]) await other.query(`select * from ${name}`)

  let isMigrated = false
  const migrating = store.migrate().then(() => (isMigrated = true))
  for (let round = 0; round < 3; round += 1) {
    await until(async () => {
      const [waiting] = await pool.query<mysql.RowDataPacket[]>(
        `select 1 from information_schema.processlist
          where db = database() and state = 'Waiting for table metadata lock'`,
      )
      return waiting.length > 0
    })
    // They wait behind the migration for a second at most.
    equal((await store.nodes.join({ id: 'old', mode: 'multiNode', ttlMs: 60_000 })).kind, 'joined')
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1) }))
  }
  equal(isMigrated, false)
  await other.query('commit')
  other.release()
  await migrating
  equal((await store.reports.living())[0]!.id, 'old')
  equal(await store.people.count({}), 3)
})
