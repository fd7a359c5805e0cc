import { after } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const schema = `checks_of_pgbouncer_${process.pid}`
const pool = new pg.Pool({ connectionString: process.env['PGBOUNCER_URL']!, max: 20 })

runServerStoreChecks('postgres store on pg behind PgBouncer in transaction mode', {
  openStore: (table) => postgresStore({ client: pool, schema, table, prepare: false, notify: false }),
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop schema if exists ${schema} cascade`)
  await pool.end()
})
