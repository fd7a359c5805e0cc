import { partitionRows } from '../../sql/partition-rows.ts'
import {
  assertCurrent,
  assertKnown,
  isCurrent as isCurrentSchema,
  type StoredSchema,
} from '../../sql/schema-version.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { SqliteHandle } from '../drivers/sqlite-client.ts'
import { prepareStatement } from '../drivers/sqlite-client.ts'

/**
 * One step of the schema. Published steps never change: databases exist that have run them. Every statement can be run again, and then
 * makes what was dropped by hand.
 */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/** Every step from an empty database to the current schema, for a checked table name. */
export function migrationsFor(table: string): readonly Migration[] {
  return [{ version: 1, sql: firstSchema(table) }]
}

/** The whole current schema, for those who bring it in with their own tool; `migrate` then finds nothing to do. */
export function schemaSql(table: string): string {
  const migrations = migrationsFor(table)
  return [...migrations.map((migration) => migration.sql), recordVersion(table, newestVersion(table))].join(
    '\n',
  )
}

/** Whether the schema is complete and current. A schema that only newer code knows is an error. */
export function isCurrent(handle: SqliteHandle, table: string): boolean {
  return isCurrentSchema(storedSchema(handle, table), newestVersion(table))
}

/** Refuses a schema that `migrate` would have to change. */
export function checkSchema(handle: SqliteHandle, table: string): void {
  assertCurrent(table, storedSchema(handle, table), newestVersion(table))
}

/** Runs the missing steps, and all of them where something is missing. Must be called in a transaction that excludes other writers. */
export function migrate(handle: SqliteHandle, table: string): void {
  // Asked again under the lock: another process may have been faster.
  if (isCurrent(handle, table)) return

  const { version, missing } = storedSchema(handle, table)
  for (const migration of migrationsFor(table)) {
    if (missing.length > 0 || migration.version > version) handle.exec(migration.sql)
  }
  handle.exec(recordVersion(table, newestVersion(table)))
}

function newestVersion(table: string): number {
  return Math.max(...migrationsFor(table).map((migration) => migration.version))
}

function storedSchema(handle: SqliteHandle, table: string): StoredSchema {
  // ? name. SQLite's table names do not distinguish case.
  const known = prepareStatement(
    handle,
    `select 1 from sqlite_schema where type = 'table' and name = ? collate nocase`,
  )
  const missing = tableNames(table).filter((name) => known.get(name) === undefined)
  if (missing.includes(`${table}_meta`)) return { version: 0, missing }

  const row = prepareStatement(handle, `select value from "${table}_meta" where key = 'version'`).get()
  const version = Number((row as { value: string } | undefined)?.value ?? 0)
  assertKnown(table, version, newestVersion(table))
  return { version, missing }
}

function recordVersion(table: string, version: number): string {
  return `insert or replace into "${table}_meta" (key, value) values ('version', '${version}');`
}

/**
 * Times are epoch milliseconds. `seq` never comes back after a delete (autoincrement), because the
 * bounds in a lock row outlive the rows they were taken from.
 *
 * `_due` holds pending rows only: it stays small whatever the number of DONE rows, and a claim,
 * which changes none of its columns, leaves it alone. `_key` has the same rows by ordering key and `_pending` in
 * write order; `_failed` and `_dead` hold what people ask for most.
 *
 * What can be long comes last in a row: SQLite reads a row from its start, and would have to go
 * through all of the payload for the columns behind it.
 */
function firstSchema(table: string): string {
  return `
create table if not exists "${table}" (
  seq            integer primary key autoincrement,
  event_id       text    not null,
  destination    text    not null,
  event_type     text    not null,
  aggregate_type text    not null,
  aggregate_id   text,
  tenant_id      text,
  ordering_key   text,
  partition_no   integer,
  content_type   text,
  status         integer not null default 0,
  attempts       integer not null default 0,
  deliveries     integer not null default 0,
  losses         integer not null default 0,
  available_at   integer not null,
  occurred_at    integer not null,
  created_at     integer not null,
  done_at        integer,
  locked_by      text,
  locked_until   integer,
  blocked_at     integer,
  last_error     text,
  headers        text,
  payload        any     not null,
  unique (event_id, destination)
) strict;
create index if not exists "${table}_due" on "${table}" (available_at, seq) where status in (0, 2) and blocked_at is null;
create index if not exists "${table}_key" on "${table}" (ordering_key, seq) where status in (0, 2) and ordering_key is not null;
create index if not exists "${table}_pending" on "${table}" (seq) where status in (0, 2);
create index if not exists "${table}_failed" on "${table}" (ordering_key)
 where ordering_key is not null and (status = 2 or status = 0 and blocked_at is not null);
create index if not exists "${table}_dead" on "${table}" (seq) where status = 3;

create table if not exists "${table}_meta" (
  key   text primary key,
  value text not null
) strict, without rowid;

create table if not exists "${table}_lock" (
  name     text primary key,
  token    text    not null,
  until    integer not null,
  low_at   integer,
  low_seq  integer,
  high_at  integer,
  high_seq integer,
  held     text
) strict, without rowid;

create table if not exists "${table}_node" (
  id         text primary key,
  mode       text,
  started_at integer not null,
  until      integer not null
) strict, without rowid;

create table if not exists "${table}_partition" (
  partition_no integer primary key,
  owner        text,
  epoch        integer not null default 0
) strict;
insert or ignore into "${table}_partition" (partition_no) values ${partitionRows};

create table if not exists "${table}_idempotency" (
  key        text primary key,
  event_id   text    not null,
  created_at integer not null
) strict, without rowid;
create index if not exists "${table}_idempotency_at" on "${table}_idempotency" (created_at);

create table if not exists "${table}_attempt" (
  id          integer primary key,
  event_id    text    not null,
  destination text    not null,
  attempts    integer not null,
  failed_at   integer not null,
  error       text    not null,
  locked_by   text
) strict;
create index if not exists "${table}_attempt_row" on "${table}_attempt" (event_id, destination);

create table if not exists "${table}_control" (
  kind       text    not null,
  name       text    not null,
  value      text,
  updated_at integer not null,
  primary key (kind, name)
) strict, without rowid;

create table if not exists "${table}_audit" (
  id     integer primary key,
  at     integer not null,
  actor  text,
  action text    not null,
  detail text
) strict;

create table if not exists "${table}_inbox" (
  consumer    text    not null,
  message_id  text    not null,
  received_at integer not null,
  primary key (consumer, message_id)
) strict, without rowid;
`
}
