import { after } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeMailOutbox } from './mail-contract.ts'

const schema = `mail_${process.pid}`
const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']!, max: 20 })

describeMailOutbox('PostgreSQL', {
  open: (_test, table) => postgresStore({ client: pool, schema, table }),
  openBeside: async (_test, tables) => tables.map((table) => postgresStore({ client: pool, schema, table })),
})

after(async () => {
  await pool.query(`drop schema if exists ${schema} cascade`)
  await pool.end()
})
