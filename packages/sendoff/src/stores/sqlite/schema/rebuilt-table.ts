import type { SqlTables } from '../../sql/table-name.ts'
import type { AddedColumn } from './added-columns.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/** A table of the first schema that has got columns since, for `schemaSql`. */
export interface GrownTable {
  readonly table: keyof SqlTables
  /** The first column, which is its key. */
  readonly key: string
  /** Its definition in the first schema: columns and options. */
  readonly columns: readonly string[]
  readonly definitions: string
  readonly options: string
}

/**
 * Returns SQL that gives a table the columns that it lacks, and that can run again. SQLite has no ADD COLUMN
 * IF NOT EXISTS, so the SQL copies the table. `migrate` adds single columns instead.
 *
 * The copy reads each added column in a subquery. If the table has the column, its value is found there.
 * If not, the name means the null of the outer query.
 *
 * Every column that a later migration adds has to be in `added`: the copy would leave it out otherwise.
 */
export function rebuiltTable(tables: SqliteTables, grown: GrownTable, added: readonly AddedColumn[]): string {
  const { key, columns, definitions, options } = grown
  const name = tables[grown.table]
  const copy = `"${tables.table}_rebuilt"`
  const own = added.filter(({ table }) => table === grown.table)
  const values = own.map((each) => `(select ${each.name} from ${name} as old where old.${key} = kept.${key})`)

  return `
savepoint sendoff_rebuild;
drop table if exists ${copy};
create table ${copy} (
${[definitions, ...own.map((each) => `  ${each.name} ${each.type}`)].join(',\n')}
) ${options};
insert into ${copy} (${[...columns, ...own.map((each) => each.name)].join(', ')})
select ${[...columns, ...values].join(', ')}
  from (select ${[...columns, ...own.map((each) => `null as ${each.name}`)].join(', ')} from ${name}) as kept;
drop table ${name};
alter table ${copy} rename to ${name};
release sendoff_rebuild;
`
}
