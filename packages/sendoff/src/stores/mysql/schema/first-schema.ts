import { partitionRows } from '../../sql/partition-rows.ts'
import { writeLockRows } from '../write-locks.ts'
import type { MysqlTables } from './mysql-tables.ts'
import { timePartitioning } from './time-partitioning.ts'

/**
 * The tables of version 1.
 *
 * Times are in UTC and in whole milliseconds, so that programs that count in milliseconds agree exactly.
 * Names and ids are compared character by character. Idempotency keys are bytes, and so are ordering keys
 * that are searched for or parked. All other types that MySQL and MariaDB have in common treat 'a' and 'a '
 * as equal.
 *
 * Rows are in the order of `seq`: writers add at the end, and settlements find rows by it. The other indexes
 * stay small, because each of their entries ends with it. Draining 40,000 rows in batches of 500 takes 60 µs
 * of MariaDB's time for each row. With the event id as primary key, it takes 70.
 *
 * There are no partial indexes. Generated columns take their place: they are null for rows that the index
 * does not need. `due_at` is for claims. `queue` is for owners that read in write order (NEW 0 and RETRY 2).
 * It is also for rows that wait for an operator: dead rows (1) and blocked ones (3). `pending_key` is for the
 * rows of one ordering key. DONE rows are in these indexes, too, but all in one place that no statement
 * reads. A claim changes none of the columns. They are stored: virtual ones cost as much, and InnoDB has to
 * compute them again whenever it clears old versions away.
 */
export function firstSchema(tables: MysqlTables): readonly string[] {
  const { partitionBy, events, meta, lock, node, partition, idempotency, attempt, control, audit, inbox } =
    tables
  const options = 'engine = InnoDB default character set utf8mb4 collate utf8mb4_bin'

  return [
    `
create table if not exists ${events} (
  seq            bigint       not null auto_increment,
  event_id       varchar(36)  not null,
  destination    varchar(255) not null,
  event_type     varchar(128) not null,
  aggregate_type varchar(64)  not null,
  aggregate_id   varchar(128),
  tenant_id      varchar(64),
  ordering_key   varchar(255),
  partition_no   smallint,
  content_type   varchar(128),
  status         smallint     not null default 0,
  attempts       int          not null default 0,
  deliveries     int          not null default 0,
  losses         int          not null default 0,
  available_at   datetime(3)  not null,
  occurred_at    datetime(3)  not null,
  created_at     datetime(3)  not null,
  done_at        datetime(3),
  locked_by      varchar(255),
  locked_until   datetime(3),
  blocked_at     datetime(3),
  last_error     text,
  headers        mediumtext,
  payload        longtext,
  payload_bytes  longblob,
  due_at         datetime(3)  as (case when status in (0, 2) and blocked_at is null then available_at end) stored,
  queue          smallint     as (case when status = 3 then 1
                                       when status not in (0, 2) then null
                                       when blocked_at is not null then 3
                                       else status end) stored,
  pending_key    varbinary(1020) as (case when status in (0, 2) then cast(ordering_key as binary) end) stored,
  primary key (${partitionBy ? 'seq, event_id' : 'seq'}),
  unique key event (event_id, destination),
  key due (due_at, seq),
  key queue (queue, seq),
  key pending_key (pending_key, seq)
) ${options} ${risingOnTidb}${partitionBy ? timePartitioning : ''}`,
    `
create table if not exists ${meta} (
  \`key\` varchar(64) not null primary key,
  value varchar(255) not null
) ${options}`,
    `
create table if not exists ${lock} (
  name     varchar(255) not null primary key,
  token    varchar(255) not null,
  \`until\`  datetime(3)  not null,
  low_at   datetime(3),
  low_seq  bigint,
  high_at  datetime(3),
  high_seq bigint,
  held     mediumtext
) ${options}`,
    `
create table if not exists ${node} (
  id         varchar(255) not null primary key,
  mode       varchar(64),
  started_at datetime(3)  not null,
  \`until\`    datetime(3)  not null
) ${options}`,
    `
create table if not exists ${partition} (
  partition_no smallint not null primary key,
  owner        varchar(255),
  epoch        bigint not null default 0
) ${options}`,
    // `uses` is 1 for the transaction that has just used a key for the first time, and more for every other
    // one.
    `
create table if not exists ${idempotency} (
  \`key\`      varbinary(800) not null primary key,
  event_id   varchar(36)    not null,
  created_at datetime(3)    not null,
  uses       int            not null default 1,
  key at (created_at)
) ${options}`,
    `
create table if not exists ${attempt} (
  id          bigint       not null auto_increment primary key,
  event_id    varchar(36)  not null,
  destination varchar(255) not null,
  attempts    int          not null,
  failed_at   datetime(3)  not null,
  error       text         not null,
  locked_by   varchar(255),
  key event (event_id, destination, id)
) ${options}`,
    `
create table if not exists ${control} (
  kind       varchar(64)  not null,
  name       varbinary(1020) not null,
  value      text,
  updated_at datetime(3)  not null,
  primary key (kind, name)
) ${options}`,
    `
create table if not exists ${audit} (
  id     bigint       not null auto_increment primary key,
  at     datetime(3)  not null,
  actor  varchar(255),
  action varchar(255) not null,
  detail text
) ${options}`,
    `
create table if not exists ${inbox} (
  consumer    varchar(128) not null,
  message_id  varchar(255) not null,
  received_at datetime(3)  not null,
  primary key (consumer, message_id)
) ${options}`,
    `
insert into ${partition} (partition_no) values ${partitionRows}
on duplicate key update partition_no = partition_no`,
    `
insert into ${lock} (name, token, \`until\`) values ${writeLockRows}
on duplicate key update name = name`,
    `
insert into ${meta} (\`key\`, value) values ('partition_by', '${partitionBy ?? 'none'}')
on duplicate key update value = value`,
  ]
}

// TiDB alone reads this. Without it, each of its servers takes numbers from a block of its own, and a later
// row may have a lower `seq`: its key would lose the write order.
const risingOnTidb = '/*T![auto_id_cache] auto_id_cache 1 */'
