import {
  assertUsable,
  codeRevision,
  firstReleaseVersion,
  isComplete,
  knownSchema,
  needsSteps,
  oldestCode,
  routingRevision,
  type MissingPart,
  type StoredSchema,
} from '../../schema-revision.ts'
import { sendoffVersion } from '../../../version.ts'
import { underMigrationLock } from '../../sql/migration-lock.ts'
import { patiently } from '../../sql/patiently.ts'
import type { MigrateOptions } from '../../../store/index.ts'
import { checkedSchemaSqlOptions, type SchemaSqlOptions } from '../../sql/schema-sql-options.ts'
import { assertSameParts } from '../../sql/same-parts.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { PostgresDriver, PostgresSession } from '../drivers/postgres-driver.ts'
import { requireVisibleSchema } from '../hidden-rows.ts'
import { textArray } from '../sql/statement-values.ts'
import { destinationIndexes, hasRouting, missingDestinationIndexes } from './destination-indexes.ts'
import { firstSchema } from './first-schema.ts'
import { fourthSchema } from './fourth-schema.ts'
import { migrationLock } from './migration-lock.ts'
import { buildOnline, isInTheWay, lockTimeout, type OnlineIndex } from './online-index.ts'
import type { PostgresTables } from './postgres-tables.ts'
import { secondSchema } from './second-schema.ts'
import { thirdSchema } from './third-schema.ts'
import { writeFunction } from './write-function.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, and then recreates whatever was dropped by hand. Processes of the version before work on
 * while a step runs and after it.
 */
export interface Migration {
  readonly revision: number
  /** Run in one transaction. None of them may take long on a large table. */
  readonly statements: readonly string[]
  /**
   * Built after the transaction, one by one, while writers and workers use the tables. PostgreSQL waits for
   * every transaction that is older than such an index, and the process that migrates starts only after that.
   */
  readonly indexes: readonly OnlineIndex[]
}

/** Returns every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: PostgresTables): readonly Migration[] {
  return [
    { revision: 1, statements: [...firstSchema(tables), ...writeFunction(tables)], indexes: [] },
    { revision: 2, statements: secondSchema(tables), indexes: [] },
    { revision: 3, statements: thirdSchema(tables), indexes: [] },
    { revision: routingRevision, statements: fourthSchema(tables), indexes: [] },
  ]
}

/**
 * Returns the steps after revision `from` as SQL, for operators who apply them with their own tool. `migrate`
 * then finds nothing to do. The SQL may run in one transaction, so it builds indexes in the plain way.
 */
export function schemaSql(tables: PostgresTables, options?: SchemaSqlOptions): string {
  const { from, destinations } = checkedSchemaSqlOptions(options)
  const steps = migrationsFor(tables).filter(({ revision }) => revision > from)
  const texts = [
    `create schema if not exists "${tables.schema}"`,
    ...steps.flatMap((step) => [
      `-- Revision ${step.revision}.\n${step.statements[0]!.trim()}`,
      ...step.statements.slice(1),
      ...step.indexes.map((index) => plainIndex(tables, index)),
    ]),
    ...(destinations ? destinationIndexes(tables).map((index) => plainIndex(tables, index)) : []),
    ...recordSchema(tables),
  ]
  return texts.map((text) => `${text.trim()};\n`).join('\n')
}

/**
 * Runs the missing steps. If many processes do so at once, one does the work. If another process is at an
 * online step for long, this one leaves the rest to it.
 */
export async function migrate<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
  options: MigrateOptions = {},
  migrations: readonly Migration[] = migrationsFor(tables),
): Promise<void> {
  const before = await storedSchema(driver, tables)
  const isWanted = options.destinationIndexes ?? true
  const ofDestinations = isWanted ? await wantedDestinationIndexes(driver, tables, before) : []
  if (isComplete(before) && ofDestinations.length === 0) return

  const what = `change the tables of "${tables.table}"`
  await patiently({ what, isInTheWay }, () => runStatements(driver, tables))
  await underMigrationLock(migrationLock(driver, tables), async () => {
    for (const { revision, indexes } of migrations) {
      if (!needsSteps(before, revision)) continue
      for (const index of indexes) await buildOnline(driver, tables, index)
    }
    for (const index of ofDestinations) await buildOnline(driver, tables, index)
    for (const text of recordSchema(tables)) await driver.run({ text })
  })
}

/** Returns the indexes by destination that the table lacks; none if it has no routing. */
async function wantedDestinationIndexes(
  session: PostgresSession,
  tables: PostgresTables,
  { missing }: StoredSchema,
): Promise<readonly OnlineIndex[]> {
  if (missing.some(({ revision }) => revision === 1)) return []
  return (await hasRouting(session, tables)) ? missingDestinationIndexes(session, tables) : []
}

/** Throws if this code cannot deliver on the schema. Needs only the right to read `<table>_meta`. */
export async function checkSchema(session: PostgresSession, tables: PostgresTables): Promise<void> {
  assertUsable(placeOf(tables), await storedSchema(session, tables))
}

/** Names the schema in errors. */
export function placeOf({ table }: PostgresTables): string {
  return `The schema of table "${table}"`
}

async function runStatements<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
): Promise<void> {
  await driver.transaction(async (tx) => {
    const session = driver.session(tx)
    // $1 name. One lock for a schema and everything in it, to the end of the transaction.
    const lock = 'select pg_advisory_xact_lock(hashtextextended($1, 0))::text'
    await session.run({ text: lock }, [`sendoff ${tables.schema}`])
    // We check again under the lock: another process may have been faster.
    const stored = await storedSchema(session, tables)
    if (isComplete(stored)) return

    await session.run({ text: lockTimeout })
    await createSchema(session, tables)
    for (const { revision, statements } of migrationsFor(tables)) {
      if (!needsSteps(stored, revision)) continue
      for (const text of statements) await session.run({ text })
    }
    // The first release can start from here on. The revision follows when everything is there.
    await session.run({ text: raise(tables, 'version', firstReleaseVersion) })
  })
}

/** Reads the state of the schema. Throws if this code cannot run on it. */
export async function storedSchema(session: PostgresSession, tables: PostgresTables): Promise<StoredSchema> {
  const { schema, table, meta, partitionBy } = tables
  const first = [...(partitionBy ? [`${table}_default`] : []), `${table}_write`]
  const parts = [...tableNames(table), ...first.map((name) => ({ name, revision: 1 }))]
  const early = await missingParts(session, schema, parts)
  if (early.some(({ name }) => name === `${table}_meta`)) return { revision: 0, version: 0, missing: early }

  const known = new Map(
    (await session.run({ text: `select key, value from ${meta}` })).map(([key, value]) => [key, value!]),
  )
  // The table has rows from its first transaction on.
  if (known.size === 0) await requireVisibleSchema(session, tables)
  const values = {
    version: known.get('version'),
    revision: known.get('revision'),
    oldestCode: known.get('oldest_code'),
    madeBy: known.get('made_by'),
  }
  const stored = knownSchema(placeOf(tables), values)
  assertSameParts('postgresStore', tables, known.get('partition_by'))
  // Another process may have added parts, and the revision that has them, between the two reads.
  return { ...stored, missing: early.length === 0 ? early : await missingParts(session, schema, early) }
}

async function missingParts(
  session: PostgresSession,
  schema: string,
  parts: readonly MissingPart[],
): Promise<readonly MissingPart[]> {
  // $1 schema, $2 names. Reads the catalog: to_regclass may return the state from before the lock was
  // granted.
  const text = `
  select name
    from unnest($2::text[]) as name
   where not exists (select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
                      where nspname = $1 and relname = name)
     and not exists (select from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
                      where nspname = $1 and proname = name)`
  const rows = await session.run({ text }, [schema, textArray(parts.map(({ name }) => name))])
  const absent = new Set(rows.map(([name]) => name))
  return parts.filter(({ name }) => absent.has(name))
}

// CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if the schema exists.
async function createSchema(session: PostgresSession, { schema }: PostgresTables): Promise<void> {
  // $1 schema.
  const known = await session.run({ text: 'select 1 from pg_namespace where nspname = $1' }, [schema])
  if (known.length === 0) await session.run({ text: `create schema "${schema}"` })
}

/** Returns the statement that builds an index in the plain way. */
export function plainIndex({ schema }: PostgresTables, { name, table, on }: OnlineIndex): string {
  return `create index if not exists "${name}" on "${schema}"."${table}" ${on}`
}

// A schema that newer code has made keeps its higher numbers.
function recordSchema(tables: PostgresTables): readonly string[] {
  const { meta } = tables
  const isOlder = `coalesce((select value from ${meta} where key = 'revision'), '0')::integer < ${codeRevision}`
  return [
    `insert into ${meta} (key, value) select 'made_by', '${sendoffVersion}' where ${isOlder}
on conflict (key) do update set value = excluded.value`,
    raise(tables, 'version', firstReleaseVersion),
    raise(tables, 'oldest_code', oldestCode),
    raise(tables, 'revision', codeRevision),
  ]
}

function raise({ meta }: PostgresTables, key: string, value: number): string {
  return `insert into ${meta} as known (key, value) values ('${key}', '${value}')
on conflict (key) do update set value = excluded.value where known.value::integer < excluded.value::integer`
}
