import type { SqlTables } from '../../sql/table-name.ts'
import type { SqliteHandle } from '../drivers/sqlite-client.ts'
import { prepareStatement } from '../drivers/sqlite-client.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/** A column that a migration adds to a table. It may be null. */
export interface AddedColumn {
  readonly table: keyof SqlTables
  readonly name: string
  readonly type: string
}

/** Adds the columns that the tables lack. */
export function addColumns(
  handle: SqliteHandle,
  tables: SqliteTables,
  columns: readonly AddedColumn[],
): void {
  for (const { table, name, type } of columns) {
    const known = prepareStatement(handle, `pragma table_info(${tables[table]})`).all() as { name: string }[]
    if (known.some((column) => column.name === name)) continue
    handle.exec(`alter table ${tables[table]} add column "${name}" ${type}`)
  }
}
