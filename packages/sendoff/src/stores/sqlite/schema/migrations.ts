import {
  assertCurrent,
  assertKnown,
  isCurrent as isCurrentSchema,
  type StoredSchema,
} from '../../sql/schema-version.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { OwnDriver } from '../drivers/own-driver.ts'
import type { SqliteHandle } from '../drivers/sqlite-client.ts'
import { prepareStatement } from '../drivers/sqlite-client.ts'
import { firstSchema } from './first-schema.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, and then recreates whatever was dropped by hand.
 */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/** Returns every step from an empty database to the current schema. */
export function migrationsFor(tables: SqliteTables): readonly Migration[] {
  return [{ version: 1, sql: firstSchema(tables) }]
}

/**
 * Returns the whole current schema, for operators who apply it with their own tool. `migrate` then finds
 * nothing to do.
 */
export function schemaSql(tables: SqliteTables): string {
  const steps = migrationsFor(tables).map((migration) => migration.sql)
  return [...steps, recordVersion(tables)].join('\n')
}

/** Brings the schema to the current version. Takes the write lock only if there is something to do. */
export function migrate(own: OwnDriver, tables: SqliteTables): Promise<void> {
  return own.alone(async (session) => {
    if (await session.read(() => isCurrent(session.handle, tables))) return
    await session.write(() => runMissingSteps(session.handle, tables))
  })
}

/** Throws if `migrate` would have to change the schema. */
export function checkSchema(own: OwnDriver, tables: SqliteTables): Promise<void> {
  return own.alone((session) =>
    session.read(() =>
      assertCurrent(tables.table, storedSchema(session.handle, tables), newestVersion(tables)),
    ),
  )
}

/** Whether the schema is complete and current. Throws if it is newer than this code. */
function isCurrent(handle: SqliteHandle, tables: SqliteTables): boolean {
  return isCurrentSchema(storedSchema(handle, tables), newestVersion(tables))
}

/** Runs the missing steps, or all of them if a table is missing. */
function runMissingSteps(handle: SqliteHandle, tables: SqliteTables): void {
  // We check again under the lock: another process may have been faster.
  if (isCurrent(handle, tables)) return

  const { version, missing } = storedSchema(handle, tables)
  for (const migration of migrationsFor(tables)) {
    if (missing.length > 0 || migration.version > version) handle.exec(migration.sql)
  }
  handle.exec(recordVersion(tables))
}

function newestVersion(tables: SqliteTables): number {
  return Math.max(...migrationsFor(tables).map((migration) => migration.version))
}

function storedSchema(handle: SqliteHandle, tables: SqliteTables): StoredSchema {
  const { table, meta } = tables
  // ? name. SQLite's table names do not distinguish case.
  const known = prepareStatement(
    handle,
    `select 1 from sqlite_schema where type = 'table' and name = ? collate nocase`,
  )
  const missing = tableNames(table).filter((name) => known.get(name) === undefined)
  if (missing.includes(`${table}_meta`)) return { version: 0, missing }

  const row = prepareStatement(handle, `select value from ${meta} where key = 'version'`).get()
  const version = Number((row as { value: string } | undefined)?.value ?? 0)
  assertKnown(table, version, newestVersion(tables))
  return { version, missing }
}

function recordVersion(tables: SqliteTables): string {
  return `insert or replace into ${tables.meta} (key, value) values ('version', '${newestVersion(tables)}');`
}
