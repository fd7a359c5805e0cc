import type { LockRequest, OwnerFence, PollRequest, Row } from '../../store.ts'
import { inDueOrder } from '../due-order.ts'
import { placeValues, skipRecentValue } from './claim-rows.ts'
import type { PostgresSession, Value } from './postgres-driver.ts'
import { readRow } from './row-columns.ts'
import { roundedUp } from './statement-values.ts'
import type { PostgresStatements } from './statements.ts'

export async function acquireLock(
  session: PostgresSession,
  { acquireLock: statement }: PostgresStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  return (await session.run(statement, [lock, token, roundedUp(ttlMs)])).length > 0
}

export async function renewLock(
  session: PostgresSession,
  { renewLock: statement }: PostgresStatements,
  { lock, token, ttlMs }: LockRequest,
): Promise<boolean> {
  return (await session.run(statement, [lock, token, roundedUp(ttlMs)])).length > 0
}

export async function releaseLock(
  session: PostgresSession,
  { releaseLock: statement }: PostgresStatements,
  { lock, token }: OwnerFence,
): Promise<void> {
  await session.run(statement, [lock, token])
}

/** Reads due rows for the owner of a lock and records what it then holds. */
export async function pollPending(
  session: PostgresSession,
  statements: PostgresStatements,
  request: PollRequest,
): Promise<readonly Row[] | undefined> {
  const { owner, limit, from, order } = request
  const isWritten = order === 'written'
  const answer = await session.run(isWritten ? statements.pollWritten : statements.pollDue, [
    owner.lock,
    owner.token,
    String(Math.max(0, limit)),
    ...placeValues(from),
    skipRecentValue(request.skipRecentMs),
    ...heldBounds(request),
    request.renewMs === undefined ? null : roundedUp(request.renewMs),
  ])
  const [first] = answer
  if (first === undefined || first[0] !== 't') return undefined

  // Without a due row, the one row of the answer has nothing but its first column.
  const rows = first[1] === null ? [] : answer.map((values) => readRow(values, 1))
  return rows.sort(isWritten ? (a, b) => a.seq - b.seq : inDueOrder)
}

function heldBounds({ held }: PollRequest): Value[] {
  if (held === null) return [null, null, null, null]
  const { low, high } = held
  return [low.availableAt, low.seq, high.availableAt, high.seq].map(String)
}
