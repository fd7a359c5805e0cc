import {
  assertCurrent,
  assertKnown,
  assertSameParts,
  isCurrent,
  type StoredSchema,
} from '../../sql/schema-version.ts'
import { tableNames } from '../../sql/table-name.ts'
import { firstSchema } from './first-schema.ts'
import type { PostgresDriver, PostgresSession } from '../drivers/postgres-driver.ts'
import type { PostgresTables } from './postgres-tables.ts'
import { textArray } from '../sql/statement-values.ts'
import { writeFunction } from './write-function.ts'

/**
 * One step of the schema. Published steps never change: some databases have run them already. Every statement
 * can run again, and then recreates whatever was dropped by hand.
 */
export interface Migration {
  readonly version: number
  readonly statements: readonly string[]
}

/** Returns every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: PostgresTables): readonly Migration[] {
  return [{ version: 1, statements: [...firstSchema(tables), ...writeFunction(tables)] }]
}

/**
 * Returns the whole current schema, for operators who apply it with their own tool. `migrate` then finds
 * nothing to do.
 */
export function schemaSql(tables: PostgresTables): string {
  const statements = [
    `create schema if not exists "${tables.schema}"`,
    ...migrationsFor(tables).flatMap((migration) => migration.statements),
    recordVersion(tables, newestVersion(tables)),
  ]
  return statements.map((statement) => `${statement.trim()};\n`).join('\n')
}

/**
 * Runs the missing steps, or all of them if a table is missing. If many processes do so at once, one does the
 * work.
 */
export async function migrate<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
): Promise<void> {
  const newest = newestVersion(tables)
  if (isCurrent(await storedSchema(driver, tables), newest)) return

  await driver.transaction(async (tx) => {
    const session = driver.session(tx)
    // $1 name. One lock for a schema and everything in it.
    const lock = 'select pg_advisory_xact_lock(hashtextextended($1, 0))::text'
    await session.run({ text: lock }, [`sendoff ${tables.schema}`])
    // We check again under the lock: another process may have been faster.
    const stored = await storedSchema(session, tables)
    if (isCurrent(stored, newest)) return

    await createSchema(session, tables)
    for (const migration of migrationsFor(tables)) {
      if (stored.missing.length === 0 && migration.version <= stored.version) continue
      for (const text of migration.statements) await session.run({ text })
    }
    await session.run({ text: recordVersion(tables, newest) })
  })
}

/** Throws if `migrate` would have to change the schema. Needs only the right to read `<table>_meta`. */
export async function checkSchema(session: PostgresSession, tables: PostgresTables): Promise<void> {
  assertCurrent(tables.table, await storedSchema(session, tables), newestVersion(tables))
}

function newestVersion(tables: PostgresTables): number {
  return Math.max(...migrationsFor(tables).map((migration) => migration.version))
}

async function storedSchema(session: PostgresSession, tables: PostgresTables): Promise<StoredSchema> {
  const { schema, table, meta, partitionBy } = tables
  const names = [...tableNames(table), ...(partitionBy ? [`${table}_default`] : []), `${table}_write`]
  // $1 schema, $2 names. Reads the catalog: to_regclass may return the state from before the lock was
  // granted.
  const text = `
  select name
    from unnest($2::text[]) as name
   where not exists (select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
                      where nspname = $1 and relname = name)
     and not exists (select from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
                      where nspname = $1 and proname = name)`
  const missing = (await session.run({ text }, [schema, textArray(names)])).map(([name]) => name!)
  if (missing.includes(`${table}_meta`)) return { version: 0, missing }

  const known = new Map(
    (await session.run({ text: `select key, value from ${meta}` })).map(([key, value]) => [key, value!]),
  )
  const version = Number(known.get('version') ?? 0)
  assertKnown(table, version, newestVersion(tables))
  assertSameParts('postgresStore', tables, known.get('partition_by'))
  return { version, missing }
}

// CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even if the schema exists.
async function createSchema(session: PostgresSession, { schema }: PostgresTables): Promise<void> {
  // $1 schema.
  const known = await session.run({ text: 'select 1 from pg_namespace where nspname = $1' }, [schema])
  if (known.length === 0) await session.run({ text: `create schema "${schema}"` })
}

function recordVersion({ meta }: PostgresTables, version: number): string {
  return `insert into ${meta} (key, value) values ('version', '${version}')
on conflict (key) do update set value = excluded.value`
}
