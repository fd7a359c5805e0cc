import { after } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const schema = `checks_of_pg_${process.pid}`
const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']!, max: 20 })

runServerStoreChecks('postgres store on pg', {
  openStore: (table) => postgresStore({ client: pool, schema, table }),
  run: (sql) => pool.query(sql),
})

after(async () => {
  await pool.query(`drop schema if exists ${schema} cascade`)
  await pool.end()
})
