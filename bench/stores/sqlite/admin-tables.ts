import { DatabaseSync } from 'node:sqlite'
import type { AdminTables } from '../../suites/admin.ts'
import { addStandingRows, type StandingDialect } from '../sql/standing-rows.ts'
import { fileOf } from './sqlite-database.ts'

/** The tables of the suite of operators' looks. */
export const sqliteAdminTables: AdminTables = {
  rows: { done: 1_000_000, dead: 100_000, due: 100_000 },
  isShared: false,

  async addStandingRows(database, rows, conditions) {
    const handle = new DatabaseSync(fileOf(database, conditions))
    handle.exec('pragma synchronous = off')
    // SQLite does not have these two functions of other databases.
    handle.function('lpad', (text, length, by) => String(text).padStart(Number(length), String(by)))
    handle.function('repeat', (text, count) => String(text).repeat(Number(count)))
    await addStandingRows(rows, conditions.scale, dialect, async (sql) => handle.exec(sql))
    handle.close()
  },
}

const now = Date.now()

const dialect: StandingDialect = {
  time: (hours) => String(now + hours * 3_600_000),
  json: (text) => text,
  numbers: (first, last) => `(
    with recursive numbers (i) as (select ${first} union all select i + 1 from numbers where i < ${last})
    select i from numbers) as numbers`,
  rowsPerStatement: 100_000,
}
