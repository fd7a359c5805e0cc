import { OutboxError } from '../../errors.ts'
import type { PostgresDriver, PostgresSession } from './postgres-driver.ts'
import type { PostgresTables } from './postgres-tables.ts'
import { writeFunction } from './write-function.ts'

/** One step of the schema. Published steps never change: databases exist that have run them. */
export interface Migration {
  readonly version: number
  readonly statements: readonly string[]
}

/** Every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: PostgresTables): readonly Migration[] {
  return [{ version: 1, statements: firstSchema(tables) }]
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
  const newest = newestVersion(tables)
  if (version <= newest) return version === newest

  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `The schema of table "${tables.table}" has version ${version}, but this version of sendoff knows only ${newest}. ` +
      'Deploy the newer version of sendoff here as well.',
  )
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

  const [row] = await session.run({ text: `select value from ${tables.meta} where key = 'version'` })
  return Number(row?.[0] ?? 0)
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

/**
 * Times are in whole milliseconds, so that a program that counts in those means the very same.
 * Names and keys are compared byte by byte, whatever the language of the database is.
 *
 * What is pending has indexes of its own, which stay small whatever the number of DONE rows: `_due` for
 * claims, `_written` for those who read in write order, `_key` for the rows of one ordering key. A claim
 * changes none of their columns. `_attention` has what waits for a person: dead rows and blocked ones. Only
 * the primary key grows with DONE rows, at its end, since ids rise with time.
 *
 * Filled to 60 % by inserts, a page has room for most of the claims of its rows, which then touch no index
 * (HOT). Draining 100,000 rows of 400 bytes in batches of 500, at 100 / 80 / 60 / 50 %: 1, 26, 60 and 91 % of
 * the claims are HOT, with 2,040, 1,710, 1,330 and 1,080 bytes of log for each row and 36, 34, 31 and 27 µs of
 * the server's time. With rows kept and vacuumed, the table has 100, 118, 149 and 176 % of its size.
 *
 * Every delivery leaves dead versions behind, also in the index that claims read. By default they would be
 * cleared away when they are a fifth of a table that is mostly DONE rows; here, a fiftieth. A small table is
 * left alone, and a table that was large keeps its pages: PostgreSQL reads a table without its indexes when
 * it has seen it nearly empty, and goes on with that plan for a while after it has filled up.
 */
function firstSchema(tables: PostgresTables): readonly string[] {
  const { table, events, meta, lock, node, partition, idempotency, attempt, control, audit, inbox } = tables

  return [
    `
create table ${events} (
  event_id       text collate "C" not null,
  destination    text collate "C" not null,
  seq            bigint           not null generated always as identity,
  event_type     text collate "C" not null check (event_type <> ''),
  aggregate_type text collate "C" not null,
  aggregate_id   text collate "C",
  tenant_id      text collate "C",
  ordering_key   text collate "C",
  partition_no   smallint,
  content_type   text,
  status         smallint         not null default 0,
  attempts       integer          not null default 0,
  deliveries     integer          not null default 0,
  losses         integer          not null default 0,
  available_at   timestamptz(3)   not null,
  occurred_at    timestamptz(3)   not null,
  created_at     timestamptz(3)   not null,
  done_at        timestamptz(3),
  locked_by      text,
  locked_until   timestamptz(3),
  blocked_at     timestamptz(3),
  last_error     text,
  headers        json,
  payload        json,
  payload_bytes  bytea,
  primary key (event_id, destination)
) with (
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = 10000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_analyze_threshold = 10000,
  vacuum_truncate = false
)`,
    `
create index "${table}_due" on ${events} (available_at, seq)
 where status in (0, 2) and blocked_at is null and event_type <> ''`,
    `
create index "${table}_written" on ${events} (seq)
 where status in (0, 2) and blocked_at is null and seq > 0`,
    `create index "${table}_key" on ${events} (ordering_key, seq) where status in (0, 2) and ordering_key is not null`,
    `create index "${table}_attention" on ${events} (seq) where status = 3 or blocked_at is not null`,
    `
create table ${meta} (
  key   text primary key,
  value text not null
)`,
    `
create table ${lock} (
  name     text collate "C" primary key,
  token    text           not null,
  until    timestamptz(3) not null,
  low_at   timestamptz(3),
  low_seq  bigint,
  high_at  timestamptz(3),
  high_seq bigint
)`,
    `
create table ${node} (
  id         text collate "C" primary key,
  mode       text,
  started_at timestamptz(3) not null,
  until      timestamptz(3) not null
)`,
    `
create table ${partition} (
  partition_no smallint primary key,
  owner        text,
  epoch        bigint not null default 0,
  until        timestamptz(3)
)`,
    `
create table ${idempotency} (
  key        text collate "C" primary key,
  event_id   text collate "C" not null,
  created_at timestamptz(3)   not null
)`,
    `create index "${table}_idempotency_at" on ${idempotency} (created_at)`,
    `
create table ${attempt} (
  id          bigint           not null generated always as identity primary key,
  event_id    text collate "C" not null,
  destination text collate "C" not null,
  attempts    integer          not null,
  failed_at   timestamptz(3)   not null,
  error       text             not null,
  locked_by   text
)`,
    `create index "${table}_attempt_row" on ${attempt} (event_id, destination, id)`,
    `
create table ${control} (
  kind       text collate "C" not null,
  name       text collate "C" not null,
  value      text,
  updated_at timestamptz(3)   not null,
  primary key (kind, name)
)`,
    `
create table ${audit} (
  id     bigint         not null generated always as identity primary key,
  at     timestamptz(3) not null,
  actor  text,
  action text           not null,
  detail text
)`,
    `
create table ${inbox} (
  consumer    text collate "C" not null,
  message_id  text collate "C" not null,
  received_at timestamptz(3)   not null,
  primary key (consumer, message_id)
)`,
    writeFunction(tables),
  ]
}
