import { OutboxError } from '../../../errors.ts'
import {
  assertUsable,
  codeRevision,
  firstReleaseVersion,
  isComplete,
  knownSchema,
  type MissingPart,
  needsSteps,
  oldestCode,
  type StoredSchema,
} from '../../schema-revision.ts'
import { sendoffVersion } from '../../../version.ts'
import { underMigrationLock } from '../../sql/migration-lock.ts'
import { assertSameParts } from '../../sql/same-parts.ts'
import type { MigrateOptions } from '../../../store/index.ts'
import { checkedSchemaSqlOptions, type SchemaSqlOptions } from '../../sql/schema-sql-options.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { MysqlSession, StoreDriver } from '../drivers/mysql-driver.ts'
import { isNotPermitted, isUnknownTable } from '../mysql-errors.ts'
import { serverOf } from '../server-version.ts'
import { textOf } from '../sql/row-columns.ts'
import { placeholders } from '../sql/statement-values.ts'
import { destinationIndexes, hasRouting, missingDestinationIndexes } from './destination-indexes.ts'
import { firstSchema } from './first-schema.ts'
import { migrationLock } from './migration-lock.ts'
import type { MysqlTables } from './mysql-tables.ts'
import { type OnlineStep, onlineSql, runOnline } from './online-step.ts'
import { secondSchema, secondSteps } from './second-schema.ts'
import { thirdSteps } from './third-schema.ts'
import { upkeepLock } from './upkeep-lock.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, because MySQL commits after each, and a step may break off halfway. It then recreates
 * whatever was dropped by hand. Processes of the version before work on while a step runs and after it.
 */
export interface Migration {
  readonly revision: number
  /** Create tables and their rows. None of them changes a table that exists. */
  readonly statements: readonly string[]
  /** Change tables that writers and workers use meanwhile. */
  readonly online: readonly OnlineStep[]
}

/** How many seconds to wait for another process that creates tables. */
const lockSeconds = 300

/** Returns every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: MysqlTables): readonly Migration[] {
  return [
    { revision: 1, statements: firstSchema(tables), online: [] },
    { revision: 2, statements: secondSchema(tables), online: secondSteps },
    { revision: 3, statements: [], online: thirdSteps },
  ]
}

/**
 * Returns the steps after revision `from` as SQL, for operators who apply them with their own tool. `migrate`
 * then finds nothing to do.
 */
export function schemaSql(tables: MysqlTables, options?: SchemaSqlOptions): string {
  const { from, destinations } = checkedSchemaSqlOptions(options)
  const steps = migrationsFor(tables).filter(({ revision }) => revision > from)
  const texts = [
    ...steps.flatMap(({ revision, statements, online }) => {
      const [first, ...rest] = [...statements, ...online.flatMap((step) => onlineSql(tables, step))]
      return [`-- Revision ${revision}.\n${first!.trim()}`, ...rest]
    }),
    ...(destinations ? destinationIndexes.flatMap((step) => onlineSql(tables, step)) : []),
    ...recordSchema(tables),
  ]
  return texts.map((text) => `${text.trim()};\n`).join('\n')
}

/**
 * Runs the missing steps. If many processes do so at once, one does the work. If another process is at an
 * online step for long, this one leaves the rest to it.
 */
export async function migrate(
  driver: StoreDriver,
  tables: MysqlTables,
  options: MigrateOptions = {},
): Promise<void> {
  await refuseUnfit(driver, tables)
  const before = await storedSchema(driver, tables)
  const isWanted = options.destinationIndexes ?? true
  const ofDestinations = isWanted ? await wantedDestinationIndexes(driver, tables, before) : []
  if (isComplete(before) && ofDestinations.length === 0) return

  await driver.connected(async (session) => {
    const isDone = await upkeepLock(session, tables, lockSeconds, async () => {
      await runStatements(session, tables)
      return true
    })
    if (isDone === undefined) throw stillMigrating(tables)
  })
  await underMigrationLock(migrationLock(driver, tables), async () => {
    for (const { revision, online } of migrationsFor(tables)) {
      if (!needsSteps(before, revision)) continue
      for (const step of online) await runOnline(driver, tables, step)
    }
    for (const step of ofDestinations) await runOnline(driver, tables, step)
    for (const text of recordSchema(tables)) await driver.run(text)
  })
}

/** Returns the indexes by destination that the table lacks; none if it has no routing. */
async function wantedDestinationIndexes(
  session: MysqlSession,
  tables: MysqlTables,
  { missing }: StoredSchema,
): Promise<readonly OnlineStep[]> {
  if (missing.some(({ revision }) => revision === 1)) return []
  return (await hasRouting(session, tables)) ? missingDestinationIndexes(session, tables) : []
}

/**
 * Throws if this code cannot deliver on the schema, or if `migrate` would refuse the connection. Needs only
 * the rights of a worker.
 */
export async function checkSchema(driver: StoreDriver, tables: MysqlTables): Promise<void> {
  await refuseUnfit(driver, tables)
  assertUsable(placeOf(tables), await storedSchema(driver, tables))
}

/** Names the schema in errors. */
export function placeOf({ table }: MysqlTables): string {
  return `The schema of table "${table}"`
}

// Throws if the store could not work over the connections of the pool, or with its options on this server.
async function refuseUnfit(driver: StoreDriver, { partitionBy }: MysqlTables): Promise<void> {
  const { rows } = await driver.run('select @@sql_mode, @@autocommit, version()')
  const [mode, autocommit, version] = rows[0]!
  // In that mode, a quote would end the text, and the server would take the rest for SQL.
  if (driver.escapesByBackslash && String(mode).includes('NO_BACKSLASH_ESCAPES')) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'The client of mysqlStore is a pool of mysql2, which is not safe to use with the sql_mode NO_BACKSLASH_ESCAPES ' +
        'that its connections have. Set another sql_mode, or use the package mariadb.',
    )
  }
  // Statements of their own would never be committed, and keep their locks.
  if (Number(autocommit) === 0) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'The connections of the pool that mysqlStore got have autocommit off, so that single statements of the store would ' +
        'never be committed. Give it a pool whose connections have autocommit on, such as by "set autocommit = 1" on each.',
    )
  }
  // TiDB accepts LOCK TABLES, and by default does nothing. A purge would drop a part while a row in it
  // becomes pending.
  if (partitionBy !== undefined && serverOf(textOf(version)!).isTidb) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'mysqlStore has the option partitionBy, and its server is TiDB, where no part can be dropped safely: TiDB ignores ' +
        'LOCK TABLES. Leave out the option: a purge then deletes row by row.',
    )
  }
}

async function runStatements(session: MysqlSession, tables: MysqlTables): Promise<void> {
  // We check again under the lock: another process may have been faster.
  const stored = await storedSchema(session, tables)
  if (isComplete(stored)) return

  for (const { revision, statements } of migrationsFor(tables)) {
    if (!needsSteps(stored, revision)) continue
    for (const text of statements) await session.run(text)
  }
  // The first release can start from here on. The revision follows when everything is there.
  await session.run(raise(tables, 'version', firstReleaseVersion))
}

/** Reads the state of the schema. Throws if this code cannot run on it. */
export async function storedSchema(session: MysqlSession, tables: MysqlTables): Promise<StoredSchema> {
  const early = await missingTables(session, tables)
  if (early.some(({ name }) => name === `${tables.table}_meta`))
    return { revision: 0, version: 0, missing: early }

  const { rows } = await session.run(`select \`key\`, value from ${tables.meta}`)
  const known = new Map(rows.map(([key, value]) => [String(key), String(value)]))
  const values = {
    version: known.get('version'),
    revision: known.get('revision'),
    oldestCode: known.get('oldest_code'),
    madeBy: known.get('made_by'),
  }
  const stored = knownSchema(placeOf(tables), values)
  assertSameParts('mysqlStore', tables, known.get('partition_by'))
  // Another process may have added tables, and the revision that has them, between the two reads.
  return { ...stored, missing: early.length === 0 ? early : await missingTables(session, tables) }
}

async function missingTables(session: MysqlSession, tables: MysqlTables): Promise<readonly MissingPart[]> {
  const parts = tableNames(tables.table)
  const names = parts.map(({ name }) => name)
  // ? database, ? names. Some servers keep names in lower case.
  const text = `
  select lower(table_name)
    from information_schema.tables
   where table_schema = coalesce(?, database()) and table_name in (${placeholders(names.length)})`
  const { rows } = await session.run(text, [tables.database, ...names])
  const seen = new Set(rows.map(([name]) => String(name)))
  const missing: MissingPart[] = []
  for (const part of parts) {
    if (!seen.has(part.name.toLowerCase()) && (await isMissing(session, tables, part.name)))
      missing.push(part)
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

// A schema that newer code has made keeps its higher numbers.
function recordSchema(tables: MysqlTables): readonly string[] {
  const { meta } = tables
  const stored = `(select cast(value as signed) from (select value from ${meta} where \`key\` = 'revision') as known)`
  return [
    `insert into ${meta} (\`key\`, value)
select 'made_by', '${sendoffVersion}' from (select 1) as one where coalesce(${stored}, 0) < ${codeRevision}
on duplicate key update value = '${sendoffVersion}'`,
    raise(tables, 'version', firstReleaseVersion),
    raise(tables, 'oldest_code', oldestCode),
    raise(tables, 'revision', codeRevision),
  ]
}

function raise({ meta }: MysqlTables, key: string, value: number): string {
  return `insert into ${meta} (\`key\`, value) values ('${key}', '${value}')
on duplicate key update value = greatest(cast(value as signed), ${value})`
}

function stillMigrating({ table }: MysqlTables): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_BUSY',
    `Another process has been migrating table "${table}" for ${lockSeconds} s. Find out what it waits for, and try again.`,
  )
}
