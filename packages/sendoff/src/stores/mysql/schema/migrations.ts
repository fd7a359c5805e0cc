import { OutboxError } from '../../../errors.ts'
import { partitionRows } from '../../sql/partition-rows.ts'
import {
  assertCurrent,
  assertKnown,
  assertSameParts,
  isCurrent,
  type StoredSchema,
} from '../../sql/schema-version.ts'
import { tableNames } from '../../sql/table-name.ts'
import type { MysqlSession, StoreDriver } from '../drivers/mysql-driver.ts'
import { isNotPermitted, isUnknownTable } from '../mysql-errors.ts'
import type { MysqlTables } from './mysql-tables.ts'
import { timePartitioning } from './time-partitioning.ts'
import { placeholders } from '../sql/statement-values.ts'
import { upkeepLock } from './upkeep-lock.ts'
import { writeLockRows } from '../write-locks.ts'

/**
 * One step of the schema. Published steps never change: databases exist that have run them. Every
 * statement can be run again, because MySQL commits after each, and a step may break off half-way. It then makes what was dropped
 * by hand.
 */
export interface Migration {
  readonly version: number
  readonly statements: readonly string[]
}

/** How long to wait for another process that migrates. */
const lockSeconds = 300

/** Every step from an empty database to the current schema, for checked names. */
export function migrationsFor(tables: MysqlTables): readonly Migration[] {
  return [{ version: 1, statements: firstSchema(tables) }]
}

/** The whole current schema, for people who bring it in with their own tool; `migrate` then finds nothing to do. */
export function schemaSql(tables: MysqlTables): string {
  const statements = [
    ...migrationsFor(tables).flatMap((migration) => migration.statements),
    recordVersion(tables, newestVersion(tables)),
  ]
  return statements.map((statement) => `${statement.trim()};\n`).join('\n')
}

/** Runs the missing steps, and all of them where something is missing. Of many processes that do so at once, one does the work. */
export async function migrate(driver: StoreDriver, tables: MysqlTables): Promise<void> {
  if (driver.escapesByBackslash) await refuseUnsafeMode(driver)
  if (isCurrent(await storedSchema(driver, tables), newestVersion(tables))) return

  await driver.connected(async (session) => {
    const isDone = await upkeepLock(session, tables, lockSeconds, async () => {
      await runMissing(session, tables)
      return true
    })
    if (isDone === undefined) throw stillMigrating(tables)
  })
}

/** Refuses a schema that `migrate` would have to change, and a connection that it would refuse. Needs no right but those of a worker. */
export async function checkSchema(driver: StoreDriver, tables: MysqlTables): Promise<void> {
  if (driver.escapesByBackslash) await refuseUnsafeMode(driver)
  assertCurrent(tables.table, await storedSchema(driver, tables), newestVersion(tables))
}

// A text with a quote in it would end there, and the rest of it be taken for SQL.
async function refuseUnsafeMode(session: MysqlSession): Promise<void> {
  const { rows } = await session.run('select @@sql_mode')
  if (!String(rows[0]?.[0]).includes('NO_BACKSLASH_ESCAPES')) return

  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'The client of mysqlStore is a pool of mysql2, which is not safe to use with the sql_mode NO_BACKSLASH_ESCAPES ' +
      'that its connections have. Set another sql_mode, or use the package mariadb.',
  )
}

async function runMissing(session: MysqlSession, tables: MysqlTables): Promise<void> {
  // Asked again under the lock: another process may have been faster.
  const stored = await storedSchema(session, tables)
  if (isCurrent(stored, newestVersion(tables))) return

  for (const migration of migrationsFor(tables)) {
    if (stored.missing.length === 0 && migration.version <= stored.version) continue
    for (const text of migration.statements) await session.run(text)
    await session.run(recordVersion(tables, migration.version))
  }
}

function newestVersion(tables: MysqlTables): number {
  return Math.max(...migrationsFor(tables).map((migration) => migration.version))
}

async function storedSchema(session: MysqlSession, tables: MysqlTables): Promise<StoredSchema> {
  const missing = await missingTables(session, tables)
  if (missing.includes(`${tables.table}_meta`)) return { version: 0, missing }

  const { rows } = await session.run(`select \`key\`, value from ${tables.meta}`)
  const values = new Map(rows.map(([key, value]) => [String(key), String(value)]))
  const version = Number(values.get('version') ?? 0)
  assertKnown(tables.table, version, newestVersion(tables))
  assertSameParts('mysqlStore', tables, values.get('partition_by'))
  return { version, missing }
}

async function missingTables(session: MysqlSession, tables: MysqlTables): Promise<readonly string[]> {
  const names = tableNames(tables.table)
  // ? database, ? names. Some servers keep names in lower case.
  const text = `
  select lower(table_name)
    from information_schema.tables
   where table_schema = coalesce(?, database()) and table_name in (${placeholders(names.length)})`
  const { rows } = await session.run(text, [tables.database, ...names])
  const seen = new Set(rows.map(([name]) => String(name)))
  const missing: string[] = []
  for (const name of names) {
    if (!seen.has(name.toLowerCase()) && (await isMissing(session, tables, name))) missing.push(name)
  }
  return missing
}

/** A table that the user has no right to is not in the list either, but others may use it. */
async function isMissing(session: MysqlSession, { database }: MysqlTables, name: string): Promise<boolean> {
  try {
    await session.run(`select 1 from ${database === null ? '' : `\`${database}\`.`}\`${name}\` limit 0`)
    return false
  } catch (error) {
    if (isUnknownTable(error)) return true
    if (isNotPermitted(error)) return false
    throw error
  }
}

function recordVersion({ meta }: MysqlTables, version: number): string {
  return `insert into ${meta} (\`key\`, value) values ('version', '${version}')
on duplicate key update value = '${version}'`
}

function stillMigrating({ table }: MysqlTables): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_BUSY',
    `Another process has been migrating table "${table}" for ${lockSeconds} s. Find out what it waits for, and try again.`,
  )
}

/**
 * Times are in UTC and in whole milliseconds, so that a program that counts in those means the very same.
 * Names and ids are compared character by character. Idempotency keys are bytes, and so are ordering keys where they are looked
 * up or parked: all other types that MySQL and MariaDB have in common take 'a' and 'a ' for the same.
 *
 * Rows lie in the order of `seq`: writers add at the end, settlements find rows by it, and the other indexes
 * stay small, because each of their entries ends with it. With the event id as primary key, draining
 * 40,000 rows in batches of 500 takes 70 µs of MariaDB's time for each row instead of 60.
 *
 * There are no partial indexes. Generated columns stand in, which are null for what is none of an index's
 * business: `due_at` for claims, `queue` for those who read in write order (NEW 0 and RETRY 2) and for what waits for a
 * person, dead rows (1) and blocked ones (3), `pending_key` for the rows of one ordering key. DONE rows are in these
 * indexes too, but all in one place that no statement reads. A claim changes none of the columns. They are stored: virtual
 * ones cost as much, and InnoDB has to compute them again whenever it clears old versions away.
 */
function firstSchema(tables: MysqlTables): readonly string[] {
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
) ${options}${partitionBy ? timePartitioning : ''}`,
    `
create table if not exists ${meta} (
  \`key\` varchar(64) not null primary key,
  value varchar(255) not null
) ${options}`,
    `
create table if not exists ${lock} (
  name     varchar(255) not null primary key,
  token    varchar(255) not null,
  until    datetime(3)  not null,
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
  until      datetime(3)  not null
) ${options}`,
    `
create table if not exists ${partition} (
  partition_no smallint not null primary key,
  owner        varchar(255),
  epoch        bigint not null default 0
) ${options}`,
    // `uses` is 1 for the transaction that has just used a key for the first time, and more for every other one.
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
insert into ${lock} (name, token, until) values ${writeLockRows}
on duplicate key update name = name`,
    `
insert into ${meta} (\`key\`, value) values ('partition_by', '${partitionBy ?? 'none'}')
on duplicate key update value = value`,
  ]
}
