import type { PostgresSession } from '../drivers/postgres-driver.ts'
import { isNotPermitted } from '../postgres-errors.ts'
import type { OnlineIndex } from './online-index.ts'
import type { PostgresTables } from './postgres-tables.ts'

/**
 * The indexes of a table with a routing: due rows by destination, and the rows of a key by destination. Other
 * tables do without them.
 *
 * The wording of the conditions differs from that of all other indexes. So a statement uses the index that is
 * meant, even if statistics suggest that all rows have one destination.
 */
export function destinationIndexes({ table }: PostgresTables): readonly OnlineIndex[] {
  return [
    {
      name: `${table}_destination`,
      table,
      on: '(destination, available_at, seq) where status % 2 = 0 and blocked_at is null',
    },
    {
      name: `${table}_lane`,
      table,
      on: '(destination, ordering_key, seq) where status % 2 = 0 and ordering_key is not null',
    },
  ]
}

/** Returns which of these indexes are missing or invalid. Reads only the catalog. */
export async function missingDestinationIndexes(
  session: PostgresSession,
  tables: PostgresTables,
): Promise<readonly OnlineIndex[]> {
  const indexes = destinationIndexes(tables)
  const names = indexes.map(({ name }) => `'${name}'`).join(', ')
  const rows = await session.run({
    text: `
  select relname
    from pg_index
    join pg_class on pg_class.oid = indexrelid
    join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = '${tables.schema}' and relname in (${names}) and indisvalid`,
  })
  const there = new Set(rows.map(([name]) => name))
  return indexes.filter(({ name }) => !there.has(name))
}

/** Whether the table has a routing. False for a database user that may not read it. */
export async function hasRouting(session: PostgresSession, { control }: PostgresTables): Promise<boolean> {
  try {
    return (await session.run({ text: `select 1 from ${control} where kind = 'routing'` })).length > 0
  } catch (error) {
    if (isNotPermitted(error)) return false
    throw error
  }
}
