import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { migrationsFor } from '../../../src/stores/sqlite/schema/migrations.ts'
import { sqliteTables } from '../../../src/stores/sqlite/schema/sqlite-tables.ts'
import { temporaryFolder } from '../../fixtures/stores.ts'
import { type GrowingStore, growingSchemaSuite, killedBefore } from '../sql/growing-schema-suite.ts'

growingSchemaSuite('sqlite store', async (t) => {
  const file = path.join(await temporaryFolder(t), 'app.db')
  const database = new DatabaseSync(file)
  t.after(() => database.close())
  const tables = sqliteTables('outbox_event')
  database.exec(migrationsFor(tables)[0]!.sql)
  database.exec(`insert into ${tables.meta} values ('version', '1')`)
  const store = sqliteStore({ open: () => new DatabaseSync(file) })
  t.after(() => store.close())

  return {
    store: store as unknown as GrowingStore,
    metaTable: tables.meta,
    keyColumn: 'key',
    run: async (sql) => database.exec(sql),
    async meta() {
      const rows = database.prepare(`select * from ${tables.meta}`).all()
      return Object.fromEntries(rows.map(({ key, value }) => [String(key), String(value)]))
    },
    async shape() {
      const rows = database
        .prepare(
          `select master.name || ' ' || info.name || ' ' || info.type || ' ' || info."notnull" || ' ' || info.pk || ' '
                  || coalesce(info.dflt_value, '') || ' ' || list.strict || list.wr as text
             from sqlite_schema as master
             join pragma_table_info(master.name) as info
             join pragma_table_list(master.name) as list
            where master.type = 'table'
            union all
           select coalesce(sql, name) from sqlite_schema where type <> 'table'
            order by 1`,
        )
        .all()
      return rows.map(({ text }) => String(text))
    },
    async migrateUntilKilled(count) {
      const killer = killedBefore(count)
      const handle = new DatabaseSync(file)
      const exec = handle.exec.bind(handle)
      const killed = sqliteStore({ open: () => handle })
      await killed.checkSchema()
      handle.exec = (sql) => {
        killer.step()
        exec(sql)
      }
      await killed.migrate().catch(() => {})
      // Closing undoes an open transaction, as the end of a process does.
      await killed.close()
      return killer.wasKilled
    },
  }
})
