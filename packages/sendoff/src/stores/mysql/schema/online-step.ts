import { patiently } from '../../sql/patiently.ts'
import { type SqlTables, sqlTables } from '../../sql/table-name.ts'
import type { MysqlSession, StoreDriver } from '../drivers/mysql-driver.ts'
import { isConflict, serverErrorOf } from '../mysql-errors.ts'
import type { MysqlTables } from './mysql-tables.ts'

/** A change of a table that writers and workers use meanwhile. */
export type OnlineStep =
  | {
      readonly kind: 'column'
      readonly table: keyof SqlTables
      readonly name: string
      /** Its type. A column that is added may be null. */
      readonly type: string
    }
  | {
      readonly kind: 'index'
      readonly table: keyof SqlTables
      readonly name: string
      /** Its columns, as written in SQL. */
      readonly columns: string
    }

/** Seconds to wait for the table. Later statements on the table wait behind this one. It is the least. */
const longestWait = 1

/**
 * Makes a change by online DDL, unless the table has it already. The server makes such a change as a whole or
 * not at all, whenever a process is killed.
 */
export async function runOnline(driver: StoreDriver, tables: MysqlTables, step: OnlineStep): Promise<void> {
  const what = `add ${step.kind} "${step.name}" to ${tables[step.table]}`
  await patiently({ what, isInTheWay: isConflict }, () =>
    driver.connected(async (session) => {
      const { rows } = await session.run(`select ${isThere(tables, step)}, @@lock_wait_timeout`)
      if (Number(rows[0]?.[0]) === 1) return
      await session.run(`set lock_wait_timeout = ${longestWait}`)
      try {
        await alter(session, tables, step)
      } finally {
        await session.run(`set lock_wait_timeout = ${Number(rows[0]?.[1])}`)
      }
    }),
  )
}

/**
 * Returns the change as SQL that does nothing if the table has it already. Neither MySQL nor TiDB has an ADD
 * COLUMN IF NOT EXISTS, so a prepared statement takes its place.
 */
export function onlineSql(tables: MysqlTables, step: OnlineStep): readonly string[] {
  const change = alterTable(tables, step, algorithms[step.kind][0]).replaceAll("'", "''")
  return [
    `set @sendoff_step = if(${isThere(tables, step)}, 'do 0', '${change}')`,
    'prepare sendoff_step from @sendoff_step',
    'execute sendoff_step',
    'deallocate prepare sendoff_step',
  ]
}

const inPlace = 'algorithm = inplace, lock = none'

// The first one that the server supports for the change. Both let reads and writes go on.
const algorithms = { column: ['algorithm = instant', inPlace], index: [inPlace] } as const

async function alter(session: MysqlSession, tables: MysqlTables, step: OnlineStep): Promise<void> {
  for (const algorithm of algorithms[step.kind]) {
    try {
      await session.run(alterTable(tables, step, algorithm))
      return
    } catch (error) {
      if (isDone(error)) return
      if (!isUnsupported(error) || algorithm === inPlace) throw error
    }
  }
}

function alterTable(tables: MysqlTables, step: OnlineStep, algorithm: string): string {
  const change =
    step.kind === 'column'
      ? `add column \`${step.name}\` ${step.type} null`
      : `add index \`${step.name}\` (${step.columns})`
  return `alter table ${tables[step.table]} ${change}, ${algorithm}`
}

// Names of columns and indexes do not distinguish case.
function isThere(tables: MysqlTables, { kind, table, name }: OnlineStep): string {
  const [list, column] = kind === 'column' ? ['columns', 'column_name'] : ['statistics', 'index_name']
  const database = tables.database === null ? 'database()' : `'${tables.database}'`
  const plain = sqlTables((ending) => `${tables.table}${ending}`)[table]
  return `exists (select 1 from information_schema.${list}
     where table_schema = ${database} and table_name = '${plain}' and ${column} = '${name}')`
}

// Another process has added the column or the index meanwhile.
function isDone(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1060 || errno === 1061
}

// ER_ALTER_OPERATION_NOT_SUPPORTED, with and without a reason.
function isUnsupported(error: unknown): boolean {
  const errno = serverErrorOf(error)?.errno
  return errno === 1845 || errno === 1846
}
