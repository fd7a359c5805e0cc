import { assertSameKind, isNewest } from '../sql/schema-version.ts'
import { firstSchema } from './first-schema.ts'
import type { PostgresDriver, PostgresSession } from './postgres-driver.ts'
import type { PostgresTables } from './postgres-tables.ts'
import { writeFunction } from './write-function.ts'

/** One step of the schema. Published steps never change: databases exist that have run them. */
export interface Migration {
  readonly version: number
  readonly statements: readonly string[]
}

/**
 * Every step from an empty database to the current schema, for checked names. The function that writes events is made by
 * the last step that changed it: earlier ones are replaced in the same transaction.
 */
export function migrationsFor(tables: PostgresTables): readonly Migration[] {
  return [
    { version: 1, statements: firstSchema(tables) },
    { version: 2, statements: [writeFunction(tables)] },
  ]
}

/** The whole current schema, for those who bring it in with their own tool; `migrate` then finds nothing to do. */
export function schemaSql(tables: PostgresTables): string {
  const statements = [
    `create schema if not exists "${tables.schema}"`,
    ...migrationsFor(tables).flatMap((migration) => migration.statements),
    recordVersion(tables, newestVersion(tables)),
  ]
  return statements.map((statement) => `${statement.trim()};\n`).join('\n')
}

/** Runs the missing steps. Of many processes that do so at once, one does the work. */
export async function migrate<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
): Promise<void> {
  if (isCurrent(tables, await storedVersion(driver, tables))) return

  await driver.transaction(async (tx) => {
    const session = driver.session(tx)
    // $1 name. One lock for a schema and all that is in it.
    const lock = 'select pg_advisory_xact_lock(hashtextextended($1, 0))::text'
    await session.run({ text: lock }, [`sendoff ${tables.schema}`])
    // Asked again under the lock: another process may have been faster.
    const version = await storedVersion(session, tables)
    if (isCurrent(tables, version)) return

    await createSchema(session, tables)
    for (const migration of migrationsFor(tables)) {
      if (migration.version <= version) continue
      for (const text of migration.statements) await session.run({ text })
    }
    await session.run({ text: recordVersion(tables, newestVersion(tables)) })
  })
}

function isCurrent(tables: PostgresTables, version: number): boolean {
  return isNewest(tables.table, version, newestVersion(tables))
}

function newestVersion(tables: PostgresTables): number {
  return Math.max(...migrationsFor(tables).map((migration) => migration.version))
}

async function storedVersion(session: PostgresSession, tables: PostgresTables): Promise<number> {
  // $1 schema, $2 meta table. A look into the catalog: to_regclass may answer from before the lock was granted.
  const exists = `
  select 1
    from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
   where nspname = $1 and relname = $2`
  const known = await session.run({ text: exists }, [tables.schema, `${tables.table}_meta`])
  if (known.length === 0) return 0

  const meta = new Map(
    (await session.run({ text: `select key, value from ${tables.meta}` })).map(([key, value]) => [
      key,
      value,
    ]),
  )
  assertSameKind('postgresStore', tables, meta.get('partitioned') === 'true')
  return Number(meta.get('version') ?? 0)
}

// CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even where it has nothing to do.
async function createSchema(session: PostgresSession, { schema }: PostgresTables): Promise<void> {
  // $1 schema.
  const known = await session.run({ text: 'select 1 from pg_namespace where nspname = $1' }, [schema])
  if (known.length === 0) await session.run({ text: `create schema "${schema}"` })
}

function recordVersion({ meta }: PostgresTables, version: number): string {
  return `insert into ${meta} (key, value) values ('version', '${version}')
on conflict (key) do update set value = excluded.value`
}
