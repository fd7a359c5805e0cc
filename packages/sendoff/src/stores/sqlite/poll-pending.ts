import type { Bounds, PollRequest, Row } from '../../store/index.ts'
import { boundsAround, sameBounds } from '../../store/due-order.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import { dueRows, isAnyDue } from './due-rows.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { boundsOf, endsOf, ownedLock, renewLock } from './sqlite-locks.ts'

/**
 * Reads due rows for the owner of a lock, and records what it then holds. Returns undefined if it has lost
 * the lock.
 */
export function pollPending(
  own: OwnDriver,
  request: PollRequest,
  byDestination: boolean,
): Promise<readonly Row[] | undefined> {
  return own.alone(async (session) => {
    const preview = await session.read((statements, now) =>
      previewPoll(statements, request, now, byDestination),
    )
    if (preview === 'work') {
      return session.write((statements, now) => readDue(statements, request, now, byDestination))
    }
    return preview === 'idle' ? [] : undefined
  })
}

/**
 * Returns the result of a poll, as far as a plain read can find out: after `lost` and `idle`, nothing more is
 * needed. An idle owner thus neither writes nor blocks writers.
 */
function previewPoll(
  statements: PreparedStatements,
  request: PollRequest,
  now: number,
  byDestination: boolean,
): 'lost' | 'idle' | 'work' {
  const lock = ownedLock(statements, request.owner, now)
  if (lock === undefined) return 'lost'
  if (request.renewMs !== undefined) return 'work'

  return isAnyDue(statements, request, now, byDestination) || !sameBounds(boundsOf(lock), request.held)
    ? 'work'
    : 'idle'
}

function readDue(
  statements: PreparedStatements,
  request: PollRequest,
  now: number,
  byDestination: boolean,
): readonly Row[] | undefined {
  const { owner, held, renewMs } = request
  const lock = ownedLock(statements, owner, now)
  if (lock === undefined) return undefined

  const rows = dueRows(statements, request, now, byDestination)
  const bounds = boundsAround(held, rows)
  if (!sameBounds(boundsOf(lock), bounds)) recordBounds(statements, owner.lock, bounds)
  if (renewMs !== undefined) renewLock(statements, { ...owner, ttlMs: renewMs }, now)
  return rows
}

function recordBounds(statements: PreparedStatements, lock: string, bounds: Bounds | null): void {
  statements.recordBounds.run(...(bounds === null ? [null, null, null, null] : endsOf(bounds)), lock)
}
