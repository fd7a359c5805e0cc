import type { MysqlTables } from './mysql-tables.ts'
import type { OnlineStep } from './online-step.ts'

/**
 * The tables of revision 2: statistics by the minute, and which events an action of an operator has touched.
 *
 * The key of `_stat` begins with the minute, so that readers of the last minutes, and the upkeep that deletes
 * old ones, each read one range.
 */
export function secondSchema({ stat, auditEvent }: MysqlTables): readonly string[] {
  const options = 'engine = InnoDB default character set utf8mb4 collate utf8mb4_bin'

  return [
    `
create table if not exists ${stat} (
  \`minute\`         datetime(3)  not null,
  node             varchar(255) not null,
  event_type       varchar(128) not null,
  destination      varchar(255) not null,
  done             bigint       not null default 0,
  failed           bigint       not null default 0,
  dead             bigint       not null default 0,
  deferred         bigint       not null default 0,
  hot              bigint       not null default 0,
  listener_ms      double       not null default 0,
  listener_buckets text         not null,
  delivery_buckets text         not null,
  primary key (\`minute\`, node, event_type, destination)
) ${options}`,
    `
create table if not exists ${auditEvent} (
  audit_id    bigint       not null,
  event_id    varchar(36)  not null,
  destination varchar(255) not null,
  primary key (event_id, destination, audit_id),
  key audit (audit_id)
) ${options}`,
  ]
}

/** The columns and the index of revision 2: reports of processes, and plans of operators. */
export const secondSteps: readonly OnlineStep[] = [
  { kind: 'column', table: 'node', name: 'report', type: 'mediumtext' },
  { kind: 'column', table: 'node', name: 'reported_at', type: 'datetime(3)' },
  { kind: 'column', table: 'audit', name: 'plan', type: 'mediumtext' },
  { kind: 'column', table: 'audit', name: 'state', type: 'varchar(16)' },
  { kind: 'column', table: 'audit', name: 'affected', type: 'bigint' },
  { kind: 'column', table: 'audit', name: 'progress', type: 'text' },
  { kind: 'column', table: 'audit', name: 'updated_at', type: 'datetime(3)' },
  { kind: 'index', table: 'audit', name: 'state', columns: 'state, id' },
]
