import { after } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const schema = `checks_of_partitioned_${process.pid}`
const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']!, max: 20 })

runServerStoreChecks('postgres store on pg and a partitioned table', {
  openStore: (table) => {
    const store = postgresStore({ client: pool, schema, table, partitionBy: 'day' })
    return { ...store, migrate: () => store.migrate().then(() => divide(table)) }
  },
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop schema if exists ${schema} cascade`)
  await pool.end()
})

// The ids of the checks begin with no time. Further partitions, with gaps between them, divide them.
async function divide(table: string): Promise<void> {
  for (let start = 990_000; start < 1_000_000; start += 1_000) {
    await pool.query(
      `create table if not exists ${schema}.${table}_${start} partition of ${schema}.${table}
       for values from ('event-${start}') to ('event-${start + 500}')`,
    )
  }
}
