import type { DoctorRequest, Finding } from '../../store/index.ts'
import { isCurrentSchema, schemaFindings } from '../schema-findings.ts'
import {
  createdIndexes,
  type ExpectedIndex,
  type FoundIndex,
  indexFindings,
  withoutDestinationIndex,
} from '../sql/index-findings.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { prepareStatement, type SqliteHandle } from './drivers/sqlite-client.ts'
import { destinationIndexes, hasRouting } from './schema/destination-indexes.ts'
import { migrationsFor, placeOf, schemaSql, storedSchema } from './schema/migrations.ts'
import type { SqliteTables } from './schema/sqlite-tables.ts'

/** Examines an SQLite store. */
export function examine(
  own: OwnDriver,
  tables: SqliteTables,
  request: DoctorRequest,
): Promise<readonly Finding[]> {
  return own.alone(async (session) => {
    const { handle } = session
    const schema = await schemaFindings({
      place: placeOf(tables),
      read: () => session.read(() => storedSchema(handle, tables)),
      isNotPermitted: () => false,
      sqlFrom: (revision) => schemaSql(tables, { from: revision }),
    })
    const isComplete = isCurrentSchema(schema)
    return [
      ...schema,
      ...(isComplete ? await session.read(() => indexesFound(handle, tables)) : []),
      ...(await session.read(() => fileFindings(handle, request))),
    ]
  })
}

function fileFindings(handle: SqliteHandle, { bloatBytes }: DoctorRequest): readonly Finding[] {
  const [main] = allOf(handle, 'pragma database_list')
  // A database in memory is lost with its process, as its user knows.
  if (main?.['file'] === '') return []

  const findings: Finding[] = []
  const synchronous = valueOf(handle, 'pragma synchronous')
  if (Number(synchronous) === 0) {
    findings.push({
      code: 'DURABILITY_OFF',
      severity: 'error',
      message:
        'The handle runs with synchronous = OFF: when its machine goes down, the file may be destroyed with all events.',
      fix: 'Do not change this pragma on the handle of the store. Use its option synchronous.',
      sql: 'pragma synchronous = full;',
    })
  }
  const journal = String(valueOf(handle, 'pragma journal_mode'))
  if (journal !== 'wal') {
    findings.push({
      code: 'JOURNAL_NOT_WAL',
      severity: 'warning',
      message: `The database has the journal mode ${journal}: readers and the writer wait for one another.`,
      fix: 'Change it back to wal while no other connection is open.',
      sql: 'pragma journal_mode = wal;',
    })
  }
  const pages = Number(valueOf(handle, 'pragma page_count'))
  const free = Number(valueOf(handle, 'pragma freelist_count'))
  const bytes = free * Number(valueOf(handle, 'pragma page_size'))
  if (bytes > bloatBytes && free > pages / 2) {
    findings.push({
      code: 'DATABASE_BLOATED',
      severity: 'warning',
      message: `${Math.round(bytes / 1_048_576)} MiB of the database file are empty, more than half of it.`,
      fix: 'Compact it at a quiet time: nothing can be written meanwhile.',
      sql: 'vacuum;',
    })
  }
  return findings
}

function indexesFound(handle: SqliteHandle, tables: SqliteTables): readonly Finding[] {
  const created = createdIndexes(migrationsFor(tables).flatMap(({ sql, indexes }) => [sql, indexes]))
  const ofDestinations = hasRouting(handle, tables) ? createdIndexes([destinationIndexes(tables)]) : []
  const expected = [
    ...created,
    ...ofDestinations.map((index) => ({ ...index, without: withoutDestinationIndex })),
  ]
  const owners = [...new Set(expected.map(({ table }) => table))]
  const found = owners.flatMap((table) => indexesOf(handle, table))
  return indexFindings(expected, found, rebuilt)
}

// ? table. A missing table has no indexes.
function indexesOf(handle: SqliteHandle, table: string): readonly FoundIndex[] {
  const rows = allOf(handle, 'select name, partial from pragma_index_list(?)', table)
  return rows.map(({ name, partial }) => ({
    table,
    name: String(name),
    columns: allOf(handle, 'select name from pragma_index_info(?) order by seqno', String(name)).map(
      (column) => String(column['name']),
    ),
    isPartial: Number(partial) === 1,
    isValid: true,
  }))
}

function rebuilt({ name, sql }: ExpectedIndex): string {
  return `drop index "${name}";\n${sql}`
}

function allOf(handle: SqliteHandle, sql: string, ...values: string[]): readonly Record<string, unknown>[] {
  return prepareStatement(handle, sql).all(...values) as Record<string, unknown>[]
}

function valueOf(handle: SqliteHandle, pragma: string): unknown {
  return Object.values(allOf(handle, pragma)[0]!)[0]
}
