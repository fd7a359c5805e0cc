import type { PostgresTables } from './postgres-tables.ts'
import { primaryKeyStorageParameters, storageParameters } from './storage-parameters.ts'

/**
 * The first schema. Times are in whole milliseconds, so that programs that count in milliseconds agree
 * exactly. Names and keys are compared byte by byte, whatever the language of the database is.
 *
 * Pending rows have their own indexes, which stay small whatever the number of DONE rows. `_due` is for
 * claims, `_written` for reads in write order, `_key` for the rows of one ordering key. A claim changes none
 * of their columns. `_attention` has the rows that wait for an operator: dead and blocked ones. Only the
 * primary key grows with DONE rows, at its end, since ids rise with time.
 *
 * A table in time partitions is divided by its ids, which begin with the time. So the primary key alone still
 * ensures that no id is used twice, and leads to the right partition. Ids of another kind are in the default
 * partition.
 */
export function firstSchema(tables: PostgresTables): readonly string[] {
  const {
    table,
    events,
    partitionBy,
    meta,
    lock,
    node,
    partition,
    idempotency,
    attempt,
    control,
    audit,
    inbox,
  } = tables

  return [
    `
create table if not exists ${events} (
  event_id       text collate "C" not null,
  destination    text collate "C" not null,
  seq            bigint           not null generated always as identity,
  event_type     text collate "C" not null,
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
  primary key (event_id, destination) with (${primaryKeyStorageParameters})
) ${partitionBy ? 'partition by range (event_id)' : `with (${storageParameters})`}`,
    ...(partitionBy ? [defaultTimePartition(tables)] : []),
    `
create index if not exists "${table}_due" on ${events} (available_at, seq)
 where status not in (1, 3) and blocked_at is null`,
    `create index if not exists "${table}_written" on ${events} (seq) where status in (0, 2)`,
    `create index if not exists "${table}_key" on ${events} (ordering_key, seq) where status & 1 = 0 and ordering_key is not null`,
    `create index if not exists "${table}_attention" on ${events} (seq) where status = 3 or blocked_at is not null`,
    `
create table if not exists ${meta} (
  key   text primary key,
  value text not null
)`,
    `
create table if not exists ${lock} (
  name     text collate "C" primary key,
  token    text           not null,
  until    timestamptz(3) not null,
  low_at   timestamptz(3),
  low_seq  bigint,
  high_at  timestamptz(3),
  high_seq bigint,
  held     text
)`,
    `
create table if not exists ${node} (
  id         text collate "C" primary key,
  mode       text,
  started_at timestamptz(3) not null,
  until      timestamptz(3) not null
)`,
    `
create table if not exists ${partition} (
  partition_no smallint primary key,
  owner        text,
  epoch        bigint not null default 0
)`,
    `insert into ${partition} (partition_no) select generate_series(0, 255) on conflict do nothing`,
    `
create table if not exists ${idempotency} (
  key        text collate "C" primary key,
  event_id   text collate "C" not null,
  created_at timestamptz(3)   not null
)`,
    `create index if not exists "${table}_idempotency_at" on ${idempotency} (created_at)`,
    `
create table if not exists ${attempt} (
  id          bigint           not null generated always as identity primary key,
  event_id    text collate "C" not null,
  destination text collate "C" not null,
  attempts    integer          not null,
  failed_at   timestamptz(3)   not null,
  error       text             not null,
  locked_by   text
)`,
    `create index if not exists "${table}_attempt_row" on ${attempt} (event_id, destination, id)`,
    `
create table if not exists ${control} (
  kind       text collate "C" not null,
  name       text collate "C" not null,
  value      text,
  updated_at timestamptz(3)   not null,
  primary key (kind, name)
)`,
    `
create table if not exists ${audit} (
  id     bigint         not null generated always as identity primary key,
  at     timestamptz(3) not null,
  actor  text,
  action text           not null,
  detail text
)`,
    `
create table if not exists ${inbox} (
  consumer    text collate "C" not null,
  message_id  text collate "C" not null,
  received_at timestamptz(3)   not null,
  primary key (consumer, message_id)
)`,
    `insert into ${meta} (key, value) values ('partition_by', '${partitionBy ?? 'none'}') on conflict do nothing`,
  ]
}

function defaultTimePartition({ schema, table, events }: PostgresTables): string {
  return `create table if not exists "${schema}"."${table}_default" partition of ${events} default with (${storageParameters})`
}
