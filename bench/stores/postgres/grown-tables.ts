import pg from 'pg'
import type { AdminTables } from '../../suites/admin.ts'
import type { GrownTables } from '../../suites/growth.ts'
import { addStandingRows, type StandingDialect } from '../sql/standing-rows.ts'
import { databaseUrl, withClient } from './postgres-server.ts'

export const postgresGrownTables: GrownTables = {
  addStandingRows: (database, rows, conditions) =>
    withClient(databaseUrl(database, conditions), (client) =>
      addStandingRows(rows, conditions.scale, dialect, (sql) => client.query(sql)),
    ),

  async holdSnapshot(database, conditions) {
    const client = new pg.Client({ connectionString: databaseUrl(database, conditions) })
    await client.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) from orders')
    return client
  },
}

const dialect: StandingDialect = {
  time: (hours) => `clock_timestamp() + interval '${hours} hours'`,
  json: (text) => `cast(${text} as json)`,
  numbers: (first, last) => `generate_series(${first}, ${last}) as numbers (i)`,
  rowsPerStatement: Infinity,
}

/** The tables of the suite of operators' looks. */
export const postgresAdminTables: AdminTables = {
  rows: { done: 5_000_000, dead: 100_000, due: 100_000 },
  isShared: true,
  addStandingRows: (...args) => postgresGrownTables.addStandingRows(...args),
  freezeStatistics: (database, conditions) =>
    withClient(databaseUrl(database, conditions), async (client) => {
      await client.query('alter table outbox_event set (autovacuum_enabled = false)')
      await client.query('analyze outbox_event')
    }),
}
