import type { MysqlSession } from '../drivers/mysql-driver.ts'
import { isNotPermitted } from '../mysql-errors.ts'
import type { MysqlTables } from './mysql-tables.ts'
import type { OnlineStep } from './online-step.ts'

/**
 * The indexes of a table with a routing: due rows by destination, and the rows of a key by destination. They
 * have an entry for every row, so that a table without a routing would pay for them.
 */
export const destinationIndexes = [
  { kind: 'index', table: 'events', name: 'destination', columns: 'destination, due_at, seq' },
  { kind: 'index', table: 'events', name: 'lane', columns: 'destination, pending_key, seq' },
] as const satisfies readonly OnlineStep[]

/** Returns which of these indexes are missing. Reads only the catalog. */
export async function missingDestinationIndexes(
  session: MysqlSession,
  { database, table }: MysqlTables,
): Promise<readonly OnlineStep[]> {
  // ? database, ? table.
  const text = `
  select distinct index_name
    from information_schema.statistics
   where table_schema = coalesce(?, database()) and table_name = ? and index_name in ('destination', 'lane')`
  const { rows } = await session.run(text, [database, table])
  const there = new Set(rows.map(([name]) => String(name).toLowerCase()))
  return destinationIndexes.filter(({ name }) => !there.has(name))
}

/** Whether the table has a routing. False for a database user that may not read it. */
export async function hasRouting(session: MysqlSession, { control }: MysqlTables): Promise<boolean> {
  try {
    return (await session.run(`select 1 from ${control} where kind = 'routing'`)).rows.length > 0
  } catch (error) {
    if (isNotPermitted(error)) return false
    throw error
  }
}
