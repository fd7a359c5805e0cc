import type { AddedColumn } from './added-columns.ts'
import type { SqliteTables } from './sqlite-tables.ts'

/**
 * The tables of revision 2: statistics by the minute, and which events an action of an operator has touched.
 *
 * The key of `_stat` begins with the minute, so that readers of the last minutes, and the upkeep that deletes
 * old ones, each read one range.
 */
export function secondTables({ table, stat, auditEvent }: SqliteTables): string {
  return `
create table if not exists ${stat} (
  minute           integer not null,
  node             text    not null,
  event_type       text    not null,
  destination      text    not null,
  done             integer not null default 0,
  failed           integer not null default 0,
  dead             integer not null default 0,
  deferred         integer not null default 0,
  hot              integer not null default 0,
  listener_ms      real    not null default 0,
  listener_buckets text    not null default '',
  delivery_buckets text    not null default '',
  primary key (minute, node, event_type, destination)
) strict, without rowid;

create table if not exists ${auditEvent} (
  audit_id    integer not null,
  event_id    text    not null,
  destination text    not null,
  primary key (event_id, destination, audit_id)
) strict, without rowid;
create index if not exists "${table}_audit_event_id" on ${auditEvent} (audit_id);
`
}

/** The columns of revision 2: reports of processes, and plans of operators. */
export const secondColumns: readonly AddedColumn[] = [
  { table: 'node', name: 'report', type: 'text' },
  { table: 'node', name: 'reported_at', type: 'integer' },
  { table: 'audit', name: 'plan', type: 'text' },
  { table: 'audit', name: 'state', type: 'text' },
  { table: 'audit', name: 'affected', type: 'integer' },
  { table: 'audit', name: 'progress', type: 'text' },
  { table: 'audit', name: 'updated_at', type: 'integer' },
]

/** The index of the plans that run. It is nearly empty, whatever the number of audit rows. */
export function secondIndexes({ table, audit }: SqliteTables): string {
  return `create index if not exists "${table}_audit_running" on ${audit} (id) where state = 'running';\n`
}
