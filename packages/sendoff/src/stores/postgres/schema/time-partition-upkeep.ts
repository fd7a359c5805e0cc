import type { PurgeRequest } from '../../../store/index.ts'
import { youngestAgeOf } from '../../purge-cutoffs.ts'
import {
  missingPartitions,
  partitionSuffix,
  type TimePartition,
  warningOfMissing,
} from '../../sql/time-partitions.ts'
import { ulidStart } from '../../sql/ulid-time.ts'
import { boundsOfTimePartition, timePartitionFromBounds } from './time-partition-bounds.ts'
import type { PostgresDriver, PostgresSession } from '../drivers/postgres-driver.ts'
import { isNotPermitted, serverErrorOf } from '../postgres-errors.ts'
import type { PostgresTables } from './postgres-tables.ts'
import { outlivedRow, pending } from '../sql/row-conditions.ts'
import { ageValues } from '../sql/statement-values.ts'
import { storageParameters } from './storage-parameters.ts'

interface NamedTimePartition extends TimePartition {
  /** The name as written in SQL. */
  readonly name: string
}

/** Limits how long this transaction waits for a lock: other transactions wait behind it. */
const lockTimeout = `set local lock_timeout = '100ms'`

/**
 * Creates time partitions ahead, for a table that has them.
 *
 * If other transactions block a partition, it is left for the next time: there are more periods ahead. If
 * events of a partition are already in the default one, it is never created. Returns what an operator has to
 * do if this database user may not create partitions.
 */
export async function addTimePartitions<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
): Promise<readonly string[]> {
  const { table, partitionBy: period } = tables
  if (period === undefined) return []

  const { timePartitions, now } = await timePartitionsOf(driver, tables)
  try {
    for (const timePartition of missingPartitions(timePartitions, period, now)) {
      await unlessInTheWay(() =>
        driver.transaction((tx) => addTimePartition(driver.session(tx), tables, timePartition)),
      )
    }
    return []
  } catch (error) {
    if (isNotPermitted(error)) return warningOfMissing(table, timePartitions, period, now)
    throw error
  }
}

/**
 * Drops time partitions in which every row is old enough. Returns how many rows they had. If this database
 * user may not drop them, a purge deletes their rows one by one.
 */
export async function dropTimePartitions<Tx extends object>(
  driver: PostgresDriver<Tx>,
  tables: PostgresTables,
  request: PurgeRequest,
): Promise<number> {
  const youngestAge = youngestAgeOf(request)
  if (youngestAge === undefined) return 0

  const { timePartitions, now } = await timePartitionsOf(driver, tables)
  let dropped = 0
  for (const timePartition of timePartitions.filter(({ end }) => end <= now - youngestAge)) {
    try {
      dropped += (await unlessInTheWay(() => dropTimePartition(driver, tables, timePartition, request))) ?? 0
    } catch (error) {
      if (isNotPermitted(error)) return dropped
      throw error
    }
  }
  return dropped
}

async function timePartitionsOf(
  session: PostgresSession,
  { schema, table }: PostgresTables,
): Promise<{ timePartitions: NamedTimePartition[]; now: number }> {
  // $1 schema, $2 table. The default partition always exists.
  const text = `
  select format('%I.%I', $1::text, partition.relname), pg_get_expr(partition.relpartbound, partition.oid),
         (date_part('epoch', clock_timestamp()) * 1000)::bigint
    from pg_inherits
    join pg_class as partition on partition.oid = inhrelid
    join pg_class as parent on parent.oid = inhparent
    join pg_namespace on pg_namespace.oid = parent.relnamespace
   where nspname = $1 and parent.relname = $2`
  const answer = await session.run({ text }, [schema, table])
  const timePartitions = answer.flatMap(([name, bounds]) => {
    const timePartition = timePartitionFromBounds(bounds ?? '')
    return timePartition === undefined ? [] : [{ ...timePartition, name: name! }]
  })
  return { timePartitions: timePartitions.sort((a, b) => a.start - b.start), now: Number(answer[0]?.[2]) }
}

// The partition is attached when it is ready: creating it in place would block all writers meanwhile.
async function addTimePartition(
  session: PostgresSession,
  { schema, table, events }: PostgresTables,
  timePartition: TimePartition,
): Promise<void> {
  const name = `"${schema}"."${table}_${partitionSuffix(timePartition)}"`
  const like = `(like ${events} including defaults including constraints)`

  await session.run({ text: lockTimeout })
  await session.run({ text: `create table ${name} ${like} with (${storageParameters})` })
  await session.run({
    text: `alter table ${events} attach partition ${name} ${boundsOfTimePartition(timePartition)}`,
  })
}

/**
 * Reads the time partition without a lock at first, as it can be large. Then searches for pending rows once
 * more under the lock, by index. A row that came meanwhile and is done already would be deleted too early.
 * But this could happen only to a row whose id is from long ago.
 */
async function dropTimePartition<Tx extends object>(
  driver: PostgresDriver<Tx>,
  { events, attempt }: PostgresTables,
  { name, start, end }: NamedTimePartition,
  request: PurgeRequest,
): Promise<number> {
  // $1 to $3 ages. Reads the time partition, up to the first row to keep.
  const kept = `select 1 from ${name} where (${outlivedRow('$1', '$2', '$3')}) is not true limit 1`
  if ((await driver.run({ text: kept }, ageValues(request))).length > 0) return 0

  const [counted] = await driver.run({ text: `select count(*) from ${name}` })
  const isDropped = await driver.transaction(async (tx) => {
    const session = driver.session(tx)
    await session.run({ text: lockTimeout })
    await session.run({ text: `lock table only ${events}, ${name} in access exclusive mode` })
    if (request.anyOlderThanMs === undefined && (await hasPending(session, name))) return false

    await session.run({ text: `drop table ${name}` })
    return true
  })
  if (!isDropped) return 0

  // $1 and $2 the bounds. By <table>_attempt_row.
  const forget = `delete from ${attempt} where event_id >= $1 and event_id < $2`
  await driver.run({ text: forget }, [ulidStart(start), ulidStart(end)])
  return Number(counted![0])
}

// No parameters. By the time partition's own part of <table>_written.
async function hasPending(session: PostgresSession, name: string): Promise<boolean> {
  return (await session.run({ text: `select 1 from ${name} where ${pending} limit 1` })).length > 0
}

/** Returns undefined if another transaction holds a lock for too long, or has done the same already. */
async function unlessInTheWay<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    if (harmless.has(serverErrorOf(error)?.code ?? '')) return undefined
    throw error
  }
}

// Lock not available, deadlock; table exists, type exists, partitions overlap; no such table; rows of the
// range are in the default partition.
const harmless: ReadonlySet<string> = new Set(['55P03', '40P01', '42P07', '23505', '42P17', '42P01', '23514'])
