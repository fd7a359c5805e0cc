import { checkedTableName, type SqlTables, sqlTables } from '../../sql/table-name.ts'

/** The names of everything a store has in its database, as they stand in SQL. */
export interface SqliteTables extends SqlTables {
  /** The plain name of the events, with which the names of indexes start as well. */
  readonly table: string
}

/** For a name from outside, which is checked here. */
export function sqliteTables(name: unknown): SqliteTables {
  const table = checkedTableName(name)

  return { table, ...sqlTables((ending) => `"${table}${ending}"`) }
}
