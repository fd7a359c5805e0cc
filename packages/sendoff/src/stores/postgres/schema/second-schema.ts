import type { PostgresTables } from './postgres-tables.ts'

/**
 * The second schema: reports of processes, statistics by the minute, plans of operators, and which events an
 * action of an operator has touched. The events themselves stay as they are.
 *
 * The key of `_stat` begins with the minute, so that readers of the last minutes, and the upkeep that deletes
 * old ones, each read one range.
 */
export function secondSchema({ table, node, stat, audit, auditEvent }: PostgresTables): readonly string[] {
  return [
    `
create table if not exists ${stat} (
  minute           timestamptz(3)   not null,
  node             text collate "C" not null,
  event_type       text collate "C" not null,
  destination      text collate "C" not null,
  done             bigint           not null default 0,
  failed           bigint           not null default 0,
  dead             bigint           not null default 0,
  deferred         bigint           not null default 0,
  hot              bigint           not null default 0,
  listener_ms      float8           not null default 0,
  listener_buckets text             not null default '',
  delivery_buckets text             not null default '',
  primary key (minute, node, event_type, destination)
)`,
    `
create table if not exists ${auditEvent} (
  audit_id    bigint           not null,
  event_id    text collate "C" not null,
  destination text collate "C" not null,
  primary key (event_id, destination, audit_id)
)`,
    `create index if not exists "${table}_audit_event_id" on ${auditEvent} (audit_id)`,
    `
alter table ${node}
  add column if not exists report      text,
  add column if not exists reported_at timestamptz(3)`,
    `
alter table ${audit}
  add column if not exists plan       text,
  add column if not exists state      text collate "C",
  add column if not exists affected   bigint,
  add column if not exists progress   text,
  add column if not exists updated_at timestamptz(3)`,
    // Of the plans that run. Nothing has written to the table before this revision, so this takes no time.
    `create index if not exists "${table}_audit_running" on ${audit} (id) where state = 'running'`,
  ]
}
