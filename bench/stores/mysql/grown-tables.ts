import mysql from 'mysql2/promise'
import type { AdminTables } from '../../suites/admin.ts'
import type { GrownTables } from '../../suites/growth.ts'
import { addStandingRows, type StandingDialect } from '../sql/standing-rows.ts'
import { databaseUrl, withConnection } from './mysql-server.ts'

export const mysqlGrownTables: GrownTables = {
  addStandingRows: (database, rows, conditions) =>
    withConnection(databaseUrl(database, conditions), (connection) =>
      addStandingRows(rows, conditions.scale, dialect, (sql) => connection.query(sql)),
    ),

  async holdSnapshot(database, conditions) {
    const connection = await mysql.createConnection(databaseUrl(database, conditions))
    await connection.query('start transaction with consistent snapshot')
    return connection
  },
}

const dialect: StandingDialect = {
  time: (hours) => `utc_timestamp(3) + interval ${hours} hour`,
  json: (text) => text,
  numbers: (first, last) => `(
    with recursive numbers (i) as (select ${first} union all select i + 1 from numbers where i < ${last})
    select i from numbers) as numbers`,
  // Servers end a recursion after a thousand steps.
  rowsPerStatement: 1_000,
}

/** The tables of the suite of operators' looks. */
export const mysqlAdminTables: AdminTables = {
  rows: { done: 1_000_000, dead: 100_000, due: 100_000 },
  isShared: true,
  addStandingRows: (...args) => mysqlGrownTables.addStandingRows(...args),
}
