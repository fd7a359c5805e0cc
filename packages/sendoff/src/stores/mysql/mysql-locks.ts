import { boundsOfEnds } from '../../store/due-order.ts'
import type { Bounds, LockRequest, OutboxLocks, OwnerFence } from '../../store/index.ts'
import type { DestinationIndexes } from '../sql/destination-indexes.ts'
import { heldInText } from '../sql/held-text.ts'
import type { LockingDriver, MysqlSession, StoreDriver } from './drivers/mysql-driver.ts'
import { lockedRows } from './locked-rows.ts'
import { textOf } from './sql/row-columns.ts'
import { durationValue, fencesOf, rowsOf, timeValue } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

/** The named locks of a MySQL store. */
export function mysqlLocks(
  driver: LockingDriver,
  statements: MysqlStatements,
  destinations: DestinationIndexes,
): OutboxLocks {
  return {
    acquire: (request) => acquireLock(driver, statements, request, destinations.cover(request)),
    renew: (request) => renewLock(driver, statements, request),
    release: (fence) => releaseLock(driver, statements, fence),
  }
}

async function acquireLock(
  driver: LockingDriver,
  statements: MysqlStatements,
  request: LockRequest,
  byDestination: boolean,
): Promise<boolean> {
  const { lock, token } = request
  // Processes that wait for a lock ask often, and mostly another process has it.
  if ((await driver.run(statements.lockOfOthers, [lock, token])).rows.length > 0) return false

  const skipsLocked = await driver.skipsLocked()
  return driver.briefly((session) => takeLock(session, statements, request, { skipsLocked, byDestination }))
}

/** How to find the rows that count a loss. */
interface LossWays {
  readonly skipsLocked: boolean
  /** Whether the index `destination` leads to them. */
  readonly byDestination: boolean
}

async function takeLock(
  session: MysqlSession,
  statements: MysqlStatements,
  { lock, token, ttlMs, destination }: LockRequest,
  ways: LossWays,
): Promise<boolean> {
  await session.run(statements.makeLock, [lock])
  const { rows } = await session.run(statements.lockRow, [token, lock])
  const [isOwn, hasRunOut, held, ...ends] = rows[0]!
  if (Number(isOwn) === 0 && Number(hasRunOut) === 0) return false

  await session.run(statements.takeLock, [token, durationValue(ttlMs), lock])
  if (Number(isOwn) !== 0) return true

  const left = boundsOfEnds(ends)
  if (left !== null) await countLosses(session, statements, left, destination, ways)
  if (held !== null) await countLossesOfHeld(session, statements, textOf(held))
  if (left !== null || held !== null) await session.run(statements.forgetHeld, [lock])
  return true
}

async function countLosses(
  session: MysqlSession,
  statements: MysqlStatements,
  { low, high }: Bounds,
  destination: string | undefined,
  { skipsLocked, byDestination }: LossWays,
): Promise<void> {
  const [lowest, highest] = [timeValue(low.availableAt), timeValue(high.availableAt)]
  const values = [lowest, lowest, low.seq, highest, highest, high.seq]
  const rows =
    destination === undefined
      ? await lockedRows(session, skipsLocked, statements.leftRows(false), values)
      : await lockedRows(session, skipsLocked, statements.leftRows(true, byDestination), [
          ...values,
          destination,
        ])
  if (rows.length === 0) return

  await session.run(statements.countLosses(rowsOf(rows.map(([seq]) => Number(seq)))))
}

/** Counts a loss for each row that an owner held, if it has not changed since and the condition holds. */
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

/** Extends the lock while it is the owner's and has not run out. Returns false if it was lost. */
export async function renewLock(
  driver: LockingDriver,
  statements: MysqlStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  const { affectedRows } = await driver.run(statements.renewLock, [durationValue(ttlMs), lock, token])
  if (affectedRows > 0) return true

  // The lock is lost, or was renewed within the same millisecond, which the server does not count as a
  // change.
  return ownsLock(driver, statements, { lock, token }, await driver.skipsLocked())
}

/** Whether the lock is the owner's. In a transaction, it stays the owner's until the end. */
export async function ownsLock(
  session: MysqlSession,
  { keepLock }: MysqlStatements,
  { lock, token }: OwnerFence,
  skipsLocked: boolean,
): Promise<boolean> {
  return (await session.run(keepLock(skipsLocked), [lock, token])).rows.length > 0
}

async function releaseLock(
  driver: StoreDriver,
  { releaseLock: statement }: MysqlStatements,
  { lock, token }: OwnerFence,
): Promise<void> {
  await driver.run(statement, [lock, token])
}
