import type { PurgeRequest, PurgeResult } from '../../store/index.ts'
import { youngestAgeOf } from '../purge-cutoffs.ts'
import { purgeCursor, purgeProgress } from '../purge-progress.ts'
import type { LockingDriver, MysqlSession, StoreDriver } from './drivers/mysql-driver.ts'
import { isAmongKeys } from './idempotency-keys.ts'
import { lockedRows } from './locked-rows.ts'
import type { MysqlTables } from './schema/mysql-tables.ts'
import { addTimePartitions, dropTimePartitions } from './schema/time-partition-upkeep.ts'
import { outlived } from './sql/outlived-rows.ts'
import { rowIdCondition } from './sql/row-ids.ts'
import { rowLimit } from './sql/row-limit.ts'
import { ageValue, rowsOf } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/**
 * Deletes one batch of old rows and one of old idempotency keys. The first batch drops time partitions in
 * which all rows are old.
 */
export async function purgeRows(
  driver: LockingDriver,
  statements: MysqlStatements,
  tables: MysqlTables,
  request: PurgeRequest,
): Promise<PurgeResult> {
  const droppedRows = request.cursor === undefined ? await purgeTimePartitions(driver, tables, request) : 0
  const { rowsAfter, keysLeft } = purgeProgress(request)
  // A purge with a limit of 0 would never end.
  const limit = Math.max(1, rowLimit(request.limit))

  const rows = await purgeWindow(driver, statements, request, rowsAfter, limit)
  const keys = keysLeft ? await purgeKeys(driver, statements, request, limit) : 0
  return {
    deletedRows: droppedRows + rows.deleted,
    deletedIdempotencyKeys: keys,
    cursor: purgeCursor({ rowsAfter: rows.next, keysLeft: keys === limit }),
  }
}

/**
 * Creates time partitions ahead and drops old ones, if the table has them. Returns how many rows were
 * dropped.
 */
async function purgeTimePartitions(
  driver: StoreDriver,
  tables: MysqlTables,
  request: PurgeRequest,
): Promise<number> {
  if (tables.partitionBy === undefined) return 0

  await addTimePartitions(driver, tables)
  return dropTimePartitions(driver, tables, request)
}

interface PurgedWindow {
  readonly deleted: number
  /** Rows behind this one are still to be read. */
  readonly next: number | undefined
}

const nothing: PurgedWindow = { deleted: 0, next: undefined }

async function purgeWindow(
  driver: LockingDriver,
  statements: MysqlStatements,
  request: PurgeRequest,
  after: number | undefined,
  limit: number,
): Promise<PurgedWindow> {
  const youngestAge = youngestAgeOf(request)
  if (after === undefined || youngestAge === undefined) return nothing

  const { rows } = await driver.run(statements.purgeWindow(limit), [ageValue(youngestAge), after])
  const [size, last, areYoung] = rows[0]!
  // Write order is the order of `seq`: behind a whole window of young rows all are young.
  if (last === null || Number(areYoung) === 1) return nothing

  const skipsLocked = await driver.skipsLocked()
  const deleted = await driver.briefly((session) =>
    deleteOutlived(session, statements, skipsLocked, request, [after, Number(last)]),
  )
  return { deleted, next: Number(size) < limit ? undefined : Number(last) }
}

async function deleteOutlived(
  session: MysqlSession,
  statements: MysqlStatements,
  skipsLocked: boolean,
  request: PurgeRequest,
  within: readonly [after: number, last: number],
): Promise<number> {
  const { condition, values } = outlived(request)
  const read = statements.outlivedRows(condition)
  const rows = await lockedRows(session, skipsLocked, read, [...within, ...values])
  if (rows.length === 0) return 0

  await session.run(statements.deleteRows(rowsOf(rows.map(([seq]) => Number(seq))), rows.length))
  const ids = rows.map(([, eventId, destination]) => ({
    eventId: String(eventId),
    destination: String(destination),
  }))
  const named = rowIdCondition(ids)
  await session.run(statements.deleteAttempts(named.condition), named.values)
  return rows.length
}

async function purgeKeys(
  driver: LockingDriver,
  statements: MysqlStatements,
  { idempotencyKeysOlderThanMs }: PurgeRequest,
  limit: number,
): Promise<number> {
  if (idempotencyKeysOlderThanMs === undefined) return 0

  const skipsLocked = await driver.skipsLocked()
  return driver.briefly(async (session) => {
    const age = ageValue(idempotencyKeysOlderThanMs)
    const { rows } = await session.run(statements.outlivedKeys(limit, skipsLocked), [age])
    const keys = rows.map(([key]) => Buffer.from(key as Uint8Array))
    if (keys.length === 0) return 0

    if (!skipsLocked) {
      const text = statements.forgetOldKeys(isAmongKeys(keys), keys.length)
      return (await session.run(text, [...keys, age])).affectedRows
    }
    await session.run(statements.forgetKeys(isAmongKeys(keys), keys.length), keys)
    return keys.length
  })
}
