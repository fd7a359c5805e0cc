import { partitionRows } from '../../sql/partition-rows.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/**
 * The first schema. Times are epoch milliseconds. A `seq` is never reused after a delete (autoincrement),
 * because the bounds in a lock row outlive the rows they were taken from.
 *
 * `_due` holds pending rows only, so it stays small whatever the number of DONE rows. A claim changes none of
 * its columns, and so leaves it alone. `_key` has the same rows by ordering key and `_pending` in write
 * order. `_failed` and `_dead` hold the rows that operators ask for most.
 *
 * Long columns come last. SQLite reads a row from its start, and would have to go through the whole payload
 * to reach columns behind it.
 */
export function firstSchema(tables: SqliteTables): string {
  const { table, events, meta, lock, node, partition, idempotency, attempt, control, audit, inbox } = tables

  return `
create table if not exists ${events} (
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
create index if not exists "${table}_due" on ${events} (available_at, seq) where status in (0, 2) and blocked_at is null;
create index if not exists "${table}_key" on ${events} (ordering_key, seq) where status in (0, 2) and ordering_key is not null;
create index if not exists "${table}_pending" on ${events} (seq) where status in (0, 2);
create index if not exists "${table}_failed" on ${events} (ordering_key)
 where ordering_key is not null and (status = 2 or status = 0 and blocked_at is not null);
create index if not exists "${table}_dead" on ${events} (seq) where status = 3;

create table if not exists ${meta} (
  key   text primary key,
  value text not null
) strict, without rowid;

create table if not exists ${lock} (
  name     text primary key,
  token    text    not null,
  until    integer not null,
  low_at   integer,
  low_seq  integer,
  high_at  integer,
  high_seq integer,
  held     text
) strict, without rowid;

create table if not exists ${node} (
  id         text primary key,
  mode       text,
  started_at integer not null,
  until      integer not null
) strict, without rowid;

create table if not exists ${partition} (
  partition_no integer primary key,
  owner        text,
  epoch        integer not null default 0
) strict;
insert or ignore into ${partition} (partition_no) values ${partitionRows};

create table if not exists ${idempotency} (
  key        text primary key,
  event_id   text    not null,
  created_at integer not null
) strict, without rowid;
create index if not exists "${table}_idempotency_at" on ${idempotency} (created_at);

create table if not exists ${attempt} (
  id          integer primary key,
  event_id    text    not null,
  destination text    not null,
  attempts    integer not null,
  failed_at   integer not null,
  error       text    not null,
  locked_by   text
) strict;
create index if not exists "${table}_attempt_row" on ${attempt} (event_id, destination);

create table if not exists ${control} (
  kind       text    not null,
  name       text    not null,
  value      text,
  updated_at integer not null,
  primary key (kind, name)
) strict, without rowid;

create table if not exists ${audit} (
  id     integer primary key,
  at     integer not null,
  actor  text,
  action text    not null,
  detail text
) strict;

create table if not exists ${inbox} (
  consumer    text    not null,
  message_id  text    not null,
  received_at integer not null,
  primary key (consumer, message_id)
) strict, without rowid;
`
}
