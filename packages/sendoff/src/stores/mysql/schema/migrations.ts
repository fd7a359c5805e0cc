import { OutboxError } from '../../../errors.ts'
import {
  assertCurrent,
  assertKnown,
  assertSameParts,
  isCurrent,
  type StoredSchema,
} from '../../sql/schema-version.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { MysqlSession, StoreDriver } from '../drivers/mysql-driver.ts'
import { isNotPermitted, isUnknownTable } from '../mysql-errors.ts'
import { placeholders } from '../sql/statement-values.ts'
import { firstSchema } from './first-schema.ts'
import type { MysqlTables } from './mysql-tables.ts'
import { upkeepLock } from './upkeep-lock.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, because MySQL commits after each, and a step may break off halfway. It then recreates
 * whatever was dropped by hand.
 */
export interface Migration {
  readonly version: number
  readonly statements: readonly string[]
}

/** How many seconds to wait for another process that migrates. */
const lockSeconds = 300

/** Returns every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: MysqlTables): readonly Migration[] {
  return [{ version: 1, statements: firstSchema(tables) }]
}

/**
 * Returns the whole current schema, for operators who apply it with their own tool. `migrate` then finds
 * nothing to do.
 */
export function schemaSql(tables: MysqlTables): string {
  const statements = [
    ...migrationsFor(tables).flatMap((migration) => migration.statements),
    recordVersion(tables, newestVersion(tables)),
  ]
  return statements.map((statement) => `${statement.trim()};\n`).join('\n')
}

/**
 * Runs the missing steps, or all of them if a table is missing. If many processes do so at once, one does the
 * work.
 */
export async function migrate(driver: StoreDriver, tables: MysqlTables): Promise<void> {
  if (driver.escapesByBackslash) await refuseUnsafeMode(driver)
  if (isCurrent(await storedSchema(driver, tables), newestVersion(tables))) return

  await driver.connected(async (session) => {
    const isDone = await upkeepLock(session, tables, lockSeconds, async () => {
      await runMissing(session, tables)
      return true
    })
    if (isDone === undefined) throw stillMigrating(tables)
  })
}

/**
 * Throws if `migrate` would have to change the schema, or would refuse the connection. Needs only the rights
 * of a worker.
 */
export async function checkSchema(driver: StoreDriver, tables: MysqlTables): Promise<void> {
  if (driver.escapesByBackslash) await refuseUnsafeMode(driver)
  assertCurrent(tables.table, await storedSchema(driver, tables), newestVersion(tables))
}

// In that mode, a quote would end the text, and the server would take the rest for SQL.
async function refuseUnsafeMode(session: MysqlSession): Promise<void> {
  const { rows } = await session.run('select @@sql_mode')
  if (!String(rows[0]?.[0]).includes('NO_BACKSLASH_ESCAPES')) return

  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'The client of mysqlStore is a pool of mysql2, which is not safe to use with the sql_mode NO_BACKSLASH_ESCAPES ' +
      'that its connections have. Set another sql_mode, or use the package mariadb.',
  )
}

async function runMissing(session: MysqlSession, tables: MysqlTables): Promise<void> {
  // We check again under the lock: another process may have been faster.
  const stored = await storedSchema(session, tables)
  if (isCurrent(stored, newestVersion(tables))) return

  for (const migration of migrationsFor(tables)) {
    if (stored.missing.length === 0 && migration.version <= stored.version) continue
    for (const text of migration.statements) await session.run(text)
    await session.run(recordVersion(tables, migration.version))
  }
}

function newestVersion(tables: MysqlTables): number {
  return Math.max(...migrationsFor(tables).map((migration) => migration.version))
}

async function storedSchema(session: MysqlSession, tables: MysqlTables): Promise<StoredSchema> {
  const missing = await missingTables(session, tables)
  if (missing.includes(`${tables.table}_meta`)) return { version: 0, missing }

  const { rows } = await session.run(`select \`key\`, value from ${tables.meta}`)
  const values = new Map(rows.map(([key, value]) => [String(key), String(value)]))
  const version = Number(values.get('version') ?? 0)
  assertKnown(tables.table, version, newestVersion(tables))
  assertSameParts('mysqlStore', tables, values.get('partition_by'))
  return { version, missing }
}

async function missingTables(session: MysqlSession, tables: MysqlTables): Promise<readonly string[]> {
  const names = tableNames(tables.table)
  // ? database, ? names. Some servers keep names in lower case.
  const text = `
  select lower(table_name)
    from information_schema.tables
   where table_schema = coalesce(?, database()) and table_name in (${placeholders(names.length)})`
  const { rows } = await session.run(text, [tables.database, ...names])
  const seen = new Set(rows.map(([name]) => String(name)))
  const missing: string[] = []
  for (const name of names) {
    if (!seen.has(name.toLowerCase()) && (await isMissing(session, tables, name))) missing.push(name)
  }
  return missing
}

/**
 * Whether a table is really missing. The list also lacks tables that the user has no right to, but others may
 * use them.
 */
async function isMissing(session: MysqlSession, { database }: MysqlTables, name: string): Promise<boolean> {
  try {
    await session.run(`select 1 from ${database === null ? '' : `\`${database}\`.`}\`${name}\` limit 0`)
    return false
  } catch (error) {
    if (isUnknownTable(error)) return true
    if (isNotPermitted(error)) return false
    throw error
  }
}

function recordVersion({ meta }: MysqlTables, version: number): string {
  return `insert into ${meta} (\`key\`, value) values ('version', '${version}')
on duplicate key update value = '${version}'`
}

function stillMigrating({ table }: MysqlTables): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_BUSY',
    `Another process has been migrating table "${table}" for ${lockSeconds} s. Find out what it waits for, and try again.`,
  )
}
