import pg from 'pg'
import { postgresStore } from 'sendoff/postgres'
import { outboxAt } from '../tested-outbox.ts'
import { testCommands } from './command-behaviour.ts'

let made = 0

testCommands({
  name: 'PostgreSQL',
  async newOutbox(test) {
    const name = `cli_${process.pid}_${++made}`
    const url = new URL(process.env['POSTGRES_URL']!)
    const pool = new pg.Pool({ connectionString: url.href, max: 1 })
    await pool.query(`create database ${name}`)
    test.after(async () => {
      await pool.query(`drop database ${name} with (force)`)
      await pool.end()
    })
    url.pathname = name
    return outboxAt(url.href, 'shop_outbox')
  },
  async migrateByDay({ url, table }) {
    const client = new pg.Pool({ connectionString: url, max: 1 })
    await postgresStore({ client, table, partitionBy: 'day' }).migrate()
    await client.end()
  },
  hasKeys: true,
  hasSql: true,
})
