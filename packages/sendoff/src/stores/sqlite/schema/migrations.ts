import {
  assertUsable,
  codeRevision,
  firstReleaseVersion,
  isComplete,
  knownSchema,
  needsSteps,
  oldestCode,
  type StoredSchema,
} from '../../schema-revision.ts'
import { sendoffVersion } from '../../../version.ts'
import { checkedSchemaSqlOptions, type SchemaSqlOptions } from '../../sql/schema-sql-options.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { OwnDriver } from '../drivers/own-driver.ts'
import type { SqliteHandle } from '../drivers/sqlite-client.ts'
import { prepareStatement } from '../drivers/sqlite-client.ts'
import { type AddedColumn, addColumns } from './added-columns.ts'
import { destinationIndexes, hasDestinationIndexes, hasRouting } from './destination-indexes.ts'
import { firstSchema } from './first-schema.ts'
import { grownTables } from './grown-tables.ts'
import { rebuiltTable } from './rebuilt-table.ts'
import { secondColumns, secondIndexes, secondTables } from './second-schema.ts'
import { thirdIndexes } from './third-schema.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, and then recreates whatever was dropped by hand. Processes of the version before work on
 * after a step. SQLite has one writer at a time, so no step is online: they all run in one transaction.
 */
export interface Migration {
  readonly revision: number
  /** Creates tables. */
  readonly sql: string
  /** Columns of tables that may exist already. */
  readonly columns: readonly AddedColumn[]
  /** Creates indexes on added columns. */
  readonly indexes: string
}

/** Returns every step from an empty database to the current schema. */
export function migrationsFor(tables: SqliteTables): readonly Migration[] {
  return [
    { revision: 1, sql: firstSchema(tables), columns: [], indexes: '' },
    {
      revision: 2,
      sql: secondTables(tables),
      columns: secondColumns,
      indexes: secondIndexes(tables),
    },
    { revision: 3, sql: '', columns: [], indexes: thirdIndexes(tables) },
  ]
}

/**
 * Returns the steps after revision `from` as SQL, for operators who apply them with their own tool. `migrate`
 * then finds nothing to do.
 */
export function schemaSql(tables: SqliteTables, options?: SchemaSqlOptions): string {
  const { from, destinations } = checkedSchemaSqlOptions(options)
  const all = migrationsFor(tables)
  const steps = all.filter(({ revision }) => revision > from)
  const columns = all.flatMap((step) => step.columns)
  const missing = steps.flatMap((step) => step.columns)
  const grown = grownTables.filter(({ table }) => missing.some((column) => column.table === table))
  return [
    ...steps.map(({ revision, sql }) => `-- Revision ${revision}.${sql}`),
    ...grown.map((each) => rebuiltTable(tables, each, columns)),
    // A table that is copied loses its indexes, also those of earlier steps.
    ...(grown.length === 0 ? steps : all).map(({ indexes }) => indexes),
    ...(destinations ? [destinationIndexes(tables)] : []),
    recordSchema(tables),
  ].join('\n')
}

/** Brings the schema to the current revision. Takes the write lock only if there is something to do. */
export function migrate(own: OwnDriver, tables: SqliteTables): Promise<void> {
  return own.alone(async (session) => {
    if (await session.read(() => isMigrated(session.handle, tables))) return
    await session.write(() => runMissingSteps(session.handle, tables))
  })
}

/** Throws if this code cannot deliver on the schema. */
export function checkSchema(own: OwnDriver, tables: SqliteTables): Promise<void> {
  return own.alone((session) =>
    session.read(() => assertUsable(placeOf(tables), storedSchema(session.handle, tables))),
  )
}

/** Names the schema in errors. */
export function placeOf({ table }: SqliteTables): string {
  return `The schema of table "${table}"`
}

/** Whether there is nothing to do. A table with a routing needs its indexes by destination, too. */
function isMigrated(handle: SqliteHandle, tables: SqliteTables): boolean {
  if (!isComplete(storedSchema(handle, tables))) return false
  return !hasRouting(handle, tables) || hasDestinationIndexes(handle, tables)
}

/** Runs the steps of every revision that is not recorded, or lacks a table. */
function runMissingSteps(handle: SqliteHandle, tables: SqliteTables): void {
  // We check again under the lock: another process may have been faster.
  if (isMigrated(handle, tables)) return

  const stored = storedSchema(handle, tables)
  for (const { revision, sql, columns, indexes } of migrationsFor(tables)) {
    if (!needsSteps(stored, revision)) continue
    handle.exec(sql)
    addColumns(handle, tables, columns)
    handle.exec(indexes)
  }
  if (hasRouting(handle, tables)) handle.exec(destinationIndexes(tables))
  handle.exec(recordSchema(tables))
}

/** Reads the state of the schema. Throws if this code cannot run on it. */
export function storedSchema(handle: SqliteHandle, tables: SqliteTables): StoredSchema {
  const { table, meta } = tables
  // ? name. SQLite's table names do not distinguish case.
  const known = prepareStatement(
    handle,
    `select 1 from sqlite_schema where type = 'table' and name = ? collate nocase`,
  )
  const missing = () => tableNames(table).filter(({ name }) => known.get(name) === undefined)
  const early = missing()
  if (early.some(({ name }) => name === `${table}_meta`)) return { revision: 0, version: 0, missing: early }

  const rows = prepareStatement(handle, `select key, value from ${meta}`).all() as {
    key: string
    value: string
  }[]
  const values = new Map(rows.map(({ key, value }) => [key, value]))
  return {
    ...knownSchema(placeOf(tables), {
      version: values.get('version'),
      revision: values.get('revision'),
      oldestCode: values.get('oldest_code'),
      madeBy: values.get('made_by'),
    }),
    // Another process may have added tables, and the revision that has them, between the two reads.
    missing: early.length === 0 ? early : missing(),
  }
}

// A schema that newer code has made keeps its higher numbers.
function recordSchema(tables: SqliteTables): string {
  const { meta } = tables
  const stored = `coalesce((select cast(value as integer) from ${meta} where key = 'revision'), 0)`
  return [
    `insert into ${meta} (key, value) select 'made_by', '${sendoffVersion}' where ${stored} < ${codeRevision}
on conflict (key) do update set value = excluded.value;`,
    raise(tables, 'version', firstReleaseVersion),
    raise(tables, 'oldest_code', oldestCode),
    raise(tables, 'revision', codeRevision),
  ].join('\n')
}

function raise({ meta }: SqliteTables, key: string, value: number): string {
  return `insert into ${meta} (key, value) values ('${key}', '${value}')
on conflict (key) do update set value = excluded.value where cast(value as integer) < ${value};`
}
