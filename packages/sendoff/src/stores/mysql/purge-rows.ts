import type { PurgeRequest, PurgeResult } from '../../store/index.ts'
import { youngestAgeOf } from '../purge-cutoffs.ts'
import { purgeCursor, purgeProgress } from '../purge-progress.ts'
import type { MysqlDriver, MysqlSession, Value } from './drivers/mysql-driver.ts'
import { ago } from './sql/row-conditions.ts'
import { rowLimit } from './sql/row-limit.ts'
import type { MysqlStatements } from './sql/statements.ts'
import { ageValue, keyCondition, rowsOf } from './sql/statement-values.ts'
import { keysAmong } from './use-keys.ts'

/** Deletes one batch of old rows and one of old idempotency keys. */
export async function purgeRows<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: PurgeRequest,
): Promise<PurgeResult> {
  const { rowsAfter, keysLeft } = purgeProgress(request)
  // A purge that looks at nothing would never end.
  const limit = Math.max(1, rowLimit(request.limit))

  const rows = await purgeWindow(driver, statements, request, rowsAfter, limit)
  const keys = keysLeft ? await purgeKeys(driver, statements, request, limit) : 0
  return {
    deletedRows: rows.deleted,
    deletedIdempotencyKeys: keys,
    cursor: purgeCursor({ rowsAfter: rows.next, keysLeft: keys === limit }),
  }
}

interface PurgedWindow {
  readonly deleted: number
  /** Rows behind this one are still to be looked at. */
  readonly next: number | undefined
}

const nothing: PurgedWindow = { deleted: 0, next: undefined }

async function purgeWindow<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: PurgeRequest,
  after: number | undefined,
  limit: number,
): Promise<PurgedWindow> {
  const youngestAge = youngestAgeOf(request)
  if (after === undefined || youngestAge === undefined) return nothing

  const { rows } = await driver.run(statements.purgeWindow(limit), [ageValue(youngestAge), after])
  const [size, last, areYoung] = rows[0]!
  // Rows are written in the order of `seq`: behind a whole window of young ones all are young.
  if (last === null || Number(areYoung) === 1) return nothing

  const deleted = await driver.briefly((session) =>
    deleteOutlived(session, statements, request, [after, Number(last)]),
  )
  return { deleted, next: Number(size) < limit ? undefined : Number(last) }
}

async function deleteOutlived(
  session: MysqlSession,
  statements: MysqlStatements,
  request: PurgeRequest,
  within: readonly [after: number, last: number],
): Promise<number> {
  const { condition, values } = outlived(request)
  const { rows } = await session.run(statements.outlivedRows(condition), [...within, ...values])
  if (rows.length === 0) return 0

  await session.run(statements.deleteRows(rowsOf(rows.map(([seq]) => Number(seq))), rows.length))
  const keys = rows.map(([, eventId, destination]) => ({
    eventId: String(eventId),
    destination: String(destination),
  }))
  const keyed = keyCondition(keys)
  await session.run(statements.deleteAttempts(keyed.condition), keyed.values)
  return rows.length
}

/** The condition called `outlived` and its parameters. A state that was set without an end counts from the row's beginning. */
export function outlived(request: PurgeRequest): { condition: string; values: Value[] } {
  const { doneOlderThanMs, deadOlderThanMs, anyOlderThanMs } = request
  const cases = [
    { age: doneOlderThanMs, condition: `status = 1 and coalesce(done_at, created_at) < ${ago}` },
    { age: deadOlderThanMs, condition: `status = 3 and coalesce(done_at, created_at) < ${ago}` },
    { age: anyOlderThanMs, condition: `created_at < ${ago}` },
  ]
  const given = cases.flatMap(({ age, condition }) => (age === undefined ? [] : [{ age, condition }]))
  return {
    condition: given.map(({ condition }) => condition).join(' or '),
    values: given.map(({ age }) => ageValue(age)),
  }
}

async function purgeKeys<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  { idempotencyKeysOlderThanMs }: PurgeRequest,
  limit: number,
): Promise<number> {
  if (idempotencyKeysOlderThanMs === undefined) return 0

  return driver.briefly(async (session) => {
    const { rows } = await session.run(statements.outlivedKeys(limit), [ageValue(idempotencyKeysOlderThanMs)])
    const keys = rows.map(([key]) => Buffer.from(key as Uint8Array))
    if (keys.length > 0) await session.run(statements.forgetKeys(keysAmong(keys), keys.length), keys)
    return keys.length
  })
}
