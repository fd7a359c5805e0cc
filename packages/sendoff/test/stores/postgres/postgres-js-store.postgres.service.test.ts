import { after } from 'node:test'
import postgres from 'postgres'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { runServerStoreChecks } from '../run-server-store-checks.ts'

const schema = `checks_of_postgres_js_${process.pid}`
const sql = postgres(process.env['POSTGRES_URL']!, { max: 20, onnotice: () => {} })

runServerStoreChecks('postgres store on postgres.js', {
  openStore: (table) => postgresStore({ client: sql, schema, table }),
  run: (text) => sql.unsafe(text),
})

after(async () => {
  await sql.unsafe(`drop schema if exists ${schema} cascade`)
  await sql.end()
})
