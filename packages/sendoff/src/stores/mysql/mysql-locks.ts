import type { Bounds, LockRequest, OwnerFence, PollRequest, Row } from '../../store/index.ts'
import { boundsAround, boundsOfEnds, sameBounds } from '../../store/due-order.ts'
import { heldInText } from '../sql/held-text.ts'
import { dueOptions, dueValues } from './claim-rows.ts'
import { fencesOf } from './held-rows.ts'
import type { MysqlDriver, MysqlSession, Value } from './drivers/mysql-driver.ts'
import { readRow, textOf } from './sql/row-columns.ts'
import { rowLimit } from './sql/row-limit.ts'
import { durationValue, rowsOf, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

export async function acquireLock<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: LockRequest,
): Promise<boolean> {
  const { lock, token } = request
  // Those who wait for a lock ask often, and are mostly told no.
  if ((await driver.run(statements.lockOfOthers, [lock, token])).rows.length > 0) return false

  return driver.briefly((session) => takeLock(session, statements, request))
}

async function takeLock(
  session: MysqlSession,
  statements: MysqlStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  await session.run(statements.makeLock, [lock])
  const { rows } = await session.run(statements.lockRow, [token, lock])
  const [isOwn, hasRunOut, held, ...ends] = rows[0]!
  if (Number(isOwn) === 0 && Number(hasRunOut) === 0) return false

  await session.run(statements.takeLock, [token, durationValue(ttlMs), lock])
  if (Number(isOwn) !== 0) return true

  const left = boundsOfEnds(ends)
  if (left !== null) await countLosses(session, statements, left)
  if (held !== null) await countLossesOfHeld(session, statements, textOf(held))
  if (left !== null || held !== null) await session.run(statements.forgetHeld, [lock])
  return true
}

async function countLosses(
  session: MysqlSession,
  statements: MysqlStatements,
  { low, high }: Bounds,
): Promise<void> {
  const [lowest, highest] = [timeValue(low.availableAt), timeValue(high.availableAt)]
  const values = [lowest, lowest, low.seq, highest, highest, high.seq]
  const { rows } = await session.run(statements.leftRows, values)
  if (rows.length === 0) return

  await session.run(statements.countLosses(rowsOf(rows.map(([seq]) => Number(seq)))))
}

/** Counts a loss for each of the rows that somebody held, as far as they are as they were then and a condition holds. */
export async function countLossesOfHeld(
  session: MysqlSession,
  statements: MysqlStatements,
  held: string | null,
  condition = 'true',
): Promise<void> {
  const rows = heldInText(held).toSorted((a, b) => a.seq - b.seq)
  if (rows.length === 0) return
  const [numbers, fences] = fencesOf(rows)
  await session.run(statements.countLossesOfHeld(numbers, `${fences} and ${condition}`), [null])
}

export async function renewLock<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  const { affectedRows } = await driver.run(statements.renewLock, [durationValue(ttlMs), lock, token])
  if (affectedRows > 0) return true

  // It is lost, or was renewed within the same millisecond before, which is no change.
  return ownsLock(driver, statements, { lock, token })
}

/** Whether the lock is the owner's. In a transaction it stays so to the end of it. */
export async function ownsLock(
  session: MysqlSession,
  { shareLock }: MysqlStatements,
  { lock, token }: OwnerFence,
): Promise<boolean> {
  return (await session.run(shareLock, [lock, token])).rows.length > 0
}

export async function releaseLock<Tx extends object>(
  driver: MysqlDriver<Tx>,
  { releaseLock: statement }: MysqlStatements,
  { lock, token }: OwnerFence,
): Promise<void> {
  await driver.run(statement, [lock, token])
}

/** Reads due rows for the owner of a lock and records what it then holds. An idle owner writes nothing. */
export async function pollPending<Tx extends object>(
  driver: MysqlDriver<Tx>,
  statements: MysqlStatements,
  request: PollRequest,
): Promise<readonly Row[] | undefined> {
  const { owner, held, renewMs } = request
  if (renewMs !== undefined && !(await renewLock(driver, statements, { ...owner, ttlMs: renewMs }))) {
    return undefined
  }
  const options = dueOptions(request)
  const { rows: preview } = await driver.run(statements.previewPoll(options), [
    ...dueValues(request),
    owner.lock,
    owner.token,
  ])
  if (preview.length === 0) return undefined

  const [isAnyDue, ...ends] = preview[0]!
  const rows = Number(isAnyDue) === 0 ? [] : await dueRows()
  const bounds = boundsAround(held, rows)
  if (sameBounds(boundsOfEnds(ends), bounds)) return rows

  const recorded = await driver.run(statements.recordBounds, [...endsOf(bounds), owner.lock, owner.token])
  return recorded.affectedRows > 0 ? rows : undefined

  async function dueRows(): Promise<readonly Row[]> {
    const text = statements.pollDue(options, rowLimit(request.limit))
    return (await driver.run(text, dueValues(request))).rows.map(readRow)
  }
}

function endsOf(bounds: Bounds | null): Value[] {
  if (bounds === null) return [null, null, null, null]
  const { low, high } = bounds
  return [timeValue(low.availableAt), low.seq, timeValue(high.availableAt), high.seq]
}
