import type mysql from 'mysql2/promise'
import { driverOf } from '../../../src/stores/mysql/drivers/driver-of.ts'
import type { MysqlSession, StoreDriver } from '../../../src/stores/mysql/drivers/mysql-driver.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { migrate, migrationsFor } from '../../../src/stores/mysql/schema/migrations.ts'
import { mysqlTables } from '../../../src/stores/mysql/schema/mysql-tables.ts'
import { type GrowingStore, growingSchemaSuite, killedBefore } from '../sql/growing-schema-suite.ts'
import { MysqlDatabase } from './mysql-database.ts'

let made = 0

/** Runs the rules of a growing schema on the server of this variable, with and without time partitions. */
export function runMysqlGrowingSchema(variable: string): void {
  for (const options of [{}, { partitionBy: 'day' }] as const) {
    const name = `mysql store${'partitionBy' in options ? ' in time partitions' : ''}`
    growingSchemaSuite(name, async (t) => {
      const database = await MysqlDatabase.create(`growing_${++made}`, process.env[variable])
      t.after(() => database.drop())
      const pool = database.mysql2Pool({ multipleStatements: true })
      const tables = mysqlTables(undefined, 'outbox_event', 'partitionBy' in options ? 'day' : undefined)
      for (const statement of migrationsFor(tables)[0]!.statements) await pool.query(statement)
      await pool.query(`insert into ${tables.meta} values ('version', '1')`)
      const store = mysqlStore({ client: pool, ...options })

      return {
        store: store as unknown as GrowingStore,
        metaTable: tables.meta,
        keyColumn: '`key`',
        run: async (sql) => void (await pool.query(sql)),
        async meta() {
          const [rows] = await pool.query<mysql.RowDataPacket[]>(`select * from ${tables.meta}`)
          return Object.fromEntries(rows.map((row) => [String(row['key']), String(row['value'])]))
        },
        async shape() {
          const [rows] = await pool.query<mysql.RowDataPacket[]>(
            `select concat_ws(' ', table_name, column_name, column_type, is_nullable, collation_name, column_default) as text
               from information_schema.columns where table_schema = database()
              union all
             select concat_ws(' ', table_name, index_name, seq_in_index, column_name)
               from information_schema.statistics where table_schema = database()
              order by 1`,
          )
          return rows.map((row) => String(row['text']))
        },
        async migrateUntilKilled(count) {
          const killer = killedBefore(count)
          await migrate(killable(driverOf(pool, { prepare: true }), killer), tables).catch(() => {})
          await pool.query(`update ${tables.lock} set \`until\` = '1970-01-01' where name = 'migration'`)
          return killer.wasKilled
        },
      }
    })
  }
}

function killable(driver: StoreDriver, killer: { step(): void }): StoreDriver {
  const counted = (session: MysqlSession): MysqlSession => ({
    async run(text, values) {
      // The server lets go of these by itself when a process is killed.
      if (!/release_lock|^set lock_wait/.test(text)) killer.step()
      return session.run(text, values)
    },
  })
  return {
    ...driver,
    ...counted(driver),
    connected: (work) => driver.connected((session) => work(counted(session))),
  }
}
