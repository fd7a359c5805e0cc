import pg from 'pg'
import { postgresStore } from 'sendoff/postgres'
import { testOperatorJourney } from './operator-journey.ts'

testOperatorJourney('PostgreSQL', async () => {
  const schema = `dashboard_${process.pid}`
  const pool = new pg.Pool({
    connectionString: process.env['POSTGRES_URL']!,
    options: `-c search_path=${schema}`,
  })
  await pool.query(`create schema ${schema}`)
  return {
    open: (table) => postgresStore({ client: pool, schema, table, notify: false }) as never,
    query: async (sql) => (await pool.query<Record<string, unknown>>(sql)).rows,
    async close() {
      await pool.query(`drop schema ${schema} cascade`)
      await pool.end()
    },
  }
})
