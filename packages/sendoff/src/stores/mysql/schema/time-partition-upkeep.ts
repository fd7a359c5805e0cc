import type { PurgeRequest } from '../../../store/index.ts'
import { youngestAgeOf } from '../../purge-cutoffs.ts'
import {
  missingPartitions,
  type PartitionPeriod,
  partitionSuffix,
  type TimePartition,
  warningOfMissing,
} from '../../sql/time-partitions.ts'
import { ulidStart, ulidTime } from '../../sql/ulid-time.ts'
import type { MysqlSession, StoreDriver } from '../drivers/mysql-driver.ts'
import { isConflict, isNotPermitted } from '../mysql-errors.ts'
import { outlived } from '../sql/outlived-rows.ts'
import { inMs } from '../sql/row-columns.ts'
import { now as serverTime, pendingQueues } from '../sql/row-conditions.ts'
import type { MysqlTables } from './mysql-tables.ts'
import { aheadTimePartition } from './time-partitioning.ts'
import { upkeepLock } from './upkeep-lock.ts'

interface NamedTimePartition extends TimePartition {
  /** The name as written in SQL. */
  readonly name: string
}

/** How many seconds other transactions wait at most: the shortest time that both servers accept. */
const longestWait = 1

/**
 * Creates time partitions ahead, for a table that has them, out of the one for all later times. That one is
 * empty, unless no process has done this for a long time.
 *
 * If other transactions block it, the work is left for the next time: there are more periods ahead. Returns
 * what an operator has to do if this database user may not create partitions.
 */
export async function addTimePartitions(
  driver: StoreDriver,
  tables: MysqlTables,
): Promise<readonly string[]> {
  const { table, partitionBy: period } = tables
  if (period === undefined) return []

  const { timePartitions, now } = await timePartitionsOf(driver, tables)
  if (missingPartitions(timePartitions, period, now).length === 0) return []
  try {
    await unlessInTheWay(driver, tables, (session) => addMissing(session, tables, period))
    return []
  } catch (error) {
    if (isNotPermitted(error)) return warningOfMissing(table, timePartitions, period, now)
    throw error
  }
}

async function addMissing(
  session: MysqlSession,
  tables: MysqlTables,
  period: PartitionPeriod,
): Promise<void> {
  // We check again under the lock: another process may have been faster.
  const { timePartitions, now } = await timePartitionsOf(session, tables)
  const missing = missingPartitions(timePartitions, period, now)
  if (missing.length === 0) return

  const added = missing.map(
    (timePartition) =>
      `partition p${partitionSuffix(timePartition)} values less than ('${ulidStart(timePartition.end)}')`,
  )
  await session.run(
    `alter table ${tables.events} reorganize partition ahead into (${[...added, aheadTimePartition].join()})`,
  )
}

/**
 * Drops time partitions in which every row is old enough. Returns how many rows they had. If this database
 * user may not drop them, a purge deletes their rows one by one.
 */
export async function dropTimePartitions(
  driver: StoreDriver,
  tables: MysqlTables,
  request: PurgeRequest,
): Promise<number> {
  const youngestAge = youngestAgeOf(request)
  if (youngestAge === undefined) return 0

  const { timePartitions, now } = await timePartitionsOf(driver, tables)
  let dropped = 0
  for (const timePartition of timePartitions.filter(({ end }) => end <= now - youngestAge)) {
    try {
      dropped += await dropTimePartition(driver, tables, timePartition, request)
    } catch (error) {
      if (isNotPermitted(error)) return dropped
      throw error
    }
  }
  return dropped
}

/** Returns the time partitions with an end, oldest first. Each begins at the end of the one before. */
async function timePartitionsOf(
  session: MysqlSession,
  { database, table }: MysqlTables,
): Promise<{ timePartitions: readonly NamedTimePartition[]; now: number }> {
  // ? database, ? table.
  const text = `
  select partition_name, partition_description, ${inMs(serverTime)}
    from information_schema.partitions
   where table_schema = coalesce(?, database()) and table_name = ?
   order by partition_ordinal_position`
  const { rows } = await session.run(text, [database, table])
  const timePartitions: NamedTimePartition[] = []
  for (const [name, bound] of rows) {
    const [, end] = /^'([0-9A-Z]{10})'$/.exec(String(bound)) ?? []
    if (end === undefined) continue
    timePartitions.push({
      name: `\`${String(name)}\``,
      start: timePartitions.at(-1)?.end ?? 0,
      end: ulidTime(end),
    })
  }
  return { timePartitions, now: Number(rows[0]?.[2]) }
}

/**
 * Reads the time partition without a lock at first, as it can be large. Then searches for pending rows once
 * more under the lock, by index. A row that came meanwhile and is done already would be deleted too early.
 * But this could happen only to a row whose id is from long ago.
 */
async function dropTimePartition(
  driver: StoreDriver,
  tables: MysqlTables,
  { name, start, end }: NamedTimePartition,
  request: PurgeRequest,
): Promise<number> {
  const { events, attempt } = tables
  const { condition, values } = outlived(request)
  // The parameters of `outlived`. Reads the time partition, up to the first row to keep.
  const kept = `select 1 from ${events} partition (${name}) where (${condition}) is not true limit 1`
  if ((await driver.run(kept, values)).rows.length > 0) return 0

  const { rows: counted } = await driver.run(`select count(*) from ${events} partition (${name})`)
  const isDropped = await unlessInTheWay(driver, tables, async (session) => {
    await session.run(`lock tables ${events} write`)
    try {
      if (request.anyOlderThanMs === undefined && (await hasPending(session, events, name))) return false
      await session.run(`alter table ${events} drop partition ${name}`)
      return true
    } finally {
      await session.run('unlock tables')
    }
  })
  if (isDropped !== true) return 0

  // ? and ? bounds. By the index `event` of the history.
  const forget = `delete from ${attempt} using ${attempt} force index (event) where event_id >= ? and event_id < ?`
  await driver.run(forget, [start === 0 ? '' : ulidStart(start), ulidStart(end)])
  return Number(counted[0]![0])
}

// No parameters. By the time partition's own part of the index `queue`.
async function hasPending(session: MysqlSession, events: string, name: string): Promise<boolean> {
  const { rows } = await session.run(
    `select 1 from ${events} partition (${name}) force index (queue) where queue in (${pendingQueues.join()}) limit 1`,
  )
  return rows.length > 0
}

/**
 * Runs work that changes the table. Returns undefined if another process does so now, or if a transaction
 * uses the table for too long. While this work waits, all other transactions wait for it. So it waits as
 * briefly as the server allows.
 */
async function unlessInTheWay<Result>(
  driver: StoreDriver,
  tables: MysqlTables,
  work: (session: MysqlSession) => Promise<Result>,
): Promise<Result | undefined> {
  return driver.connected((session) =>
    upkeepLock(session, tables, 0, async () => {
      const { rows } = await session.run('select @@lock_wait_timeout')
      await session.run(`set lock_wait_timeout = ${longestWait}`)
      try {
        return await work(session)
      } catch (error) {
        if (isConflict(error)) return undefined
        throw error
      } finally {
        await session.run(`set lock_wait_timeout = ${Number(rows[0]?.[0])}`)
      }
    }),
  )
}
