import { type SqliteHandle, prepareStatement } from '../drivers/sqlite-client.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/**
 * The indexes of a table with a routing: due rows by destination, and the rows of a key by destination. Other
 * tables do without them.
 */
export function destinationIndexes({ table, events }: SqliteTables): string {
  return `create index if not exists "${table}_destination" on ${events} (destination, available_at, seq)
 where status in (0, 2) and blocked_at is null;
create index if not exists "${table}_lane" on ${events} (destination, ordering_key, seq)
 where status in (0, 2) and ordering_key is not null;
`
}

/** Whether the table has both indexes. */
export function hasDestinationIndexes(handle: SqliteHandle, { table }: SqliteTables): boolean {
  const found = prepareStatement(
    handle,
    `select name from sqlite_schema where type = 'index' and name in ('${table}_destination', '${table}_lane')`,
  ).all()
  return found.length === 2
}

/** Whether the table has a routing. */
export function hasRouting(handle: SqliteHandle, { control }: SqliteTables): boolean {
  return prepareStatement(handle, `select 1 from ${control} where kind = 'routing'`).get() !== undefined
}
