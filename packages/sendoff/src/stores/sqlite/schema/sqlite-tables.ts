import { checkedTableName, type SqlTables, sqlTables } from '../../sql/table-name.ts'

/** The names of everything that a store has in its database, as written in SQL. */
export interface SqliteTables extends SqlTables {
  /** The plain name of the table of events. The names of indexes begin with it, too. */
  readonly table: string
}

/** Returns the names for a table, after checking its name. */
export function sqliteTables(name: unknown): SqliteTables {
  const table = checkedTableName(name)

  return { table, ...sqlTables((ending) => `"${table}${ending}"`) }
}
