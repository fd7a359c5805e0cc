import type { Finding } from '../../store/index.ts'
import { rowsHidden } from '../../store/rows-hidden.ts'
import { tableNames } from '../sql/table-name.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import type { PostgresTables } from './schema/postgres-tables.ts'
import { readHiddenTables } from './sql/doctor-statements.ts'
import { textArray } from './sql/statement-values.ts'

/** Returns a finding if row-level security may hide rows of the tables from this user. */
export async function hiddenRows(
  session: PostgresSession,
  tables: PostgresTables,
): Promise<readonly Finding[]> {
  const names = await hiddenTables(session, tables)
  return names.length === 0 ? [] : [findingOf(tables, names)]
}

/** Throws if row-level security may hide the version of the schema, which then seems to be missing. */
export async function requireVisibleSchema(session: PostgresSession, tables: PostgresTables): Promise<void> {
  const hidden = await hiddenTables(session, tables)
  if (hidden.some(({ name }) => name === `${tables.table}_meta`)) throw rowsHidden(findingOf(tables, hidden))
}

interface HiddenTable {
  readonly name: string
  /** The database user that may not see its rows. */
  readonly user: string
}

async function hiddenTables(
  session: PostgresSession,
  { schema, table }: PostgresTables,
): Promise<readonly HiddenTable[]> {
  const names = tableNames(table).map(({ name }) => name)
  const rows = await session.run({ text: readHiddenTables }, [schema, textArray(names)])
  return rows.map(([name, user]) => ({ name: name!, user: user! }))
}

function findingOf({ schema }: PostgresTables, hidden: readonly HiddenTable[]): Finding {
  const user = `"${hidden[0]!.user.replaceAll('"', '""')}"`
  const places = hidden.map(({ name }) => `"${schema}"."${name}"`)
  return {
    code: 'ROWS_HIDDEN',
    severity: 'error',
    message: `Row-level security applies to user ${user} on ${places.join(', ')}. Its policies may hide rows, and events that a worker does not see are never delivered.`,
    fix: 'Create a policy with the condition true for the user of the workers, or give it bypassrls.',
    sql: places
      .map((place) => `create policy sendoff_worker on ${place} to ${user} using (true);`)
      .join('\n'),
  }
}
