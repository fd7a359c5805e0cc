import type { Bounds, LockGrant, LockRequest, OwnerFence, PollRequest, Row } from '../../store.ts'
import { boundsAround } from '../bounds-around.ts'
import { dueRows, isAnyDue } from './claim-rows.ts'
import type { PreparedStatements } from './statements.ts'

interface LockRow {
  readonly token: string
  readonly until: number
  readonly lowSeq: number | null
  readonly highSeq: number | null
}

export function acquireLock(
  statements: PreparedStatements,
  { lock: name, token, ttlMs }: LockRequest,
  now: number,
): LockGrant | undefined {
  const lock = statements.lock.get(name) as LockRow | undefined
  if (lock !== undefined && lock.token !== token && lock.until > now) return undefined

  statements.takeLock.run(name, token, Math.ceil(now + ttlMs))
  return { inherited: lock === undefined || lock.token === token ? null : boundsOf(lock) }
}

/** The lock row, if the lock is the owner's and has not run out. */
export function ownedLock(
  statements: PreparedStatements,
  { lock: name, token }: OwnerFence,
  now: number,
): LockRow | undefined {
  const lock = statements.lock.get(name) as LockRow | undefined
  return lock !== undefined && lock.token === token && lock.until > now ? lock : undefined
}

/**
 * What a poll comes to as far as a plain read can tell: `lost` and `idle` need no more. An idle
 * owner thus neither writes nor stands in the way of those who do.
 */
export function previewPoll(
  statements: PreparedStatements,
  request: PollRequest,
  now: number,
): 'lost' | 'idle' | 'work' {
  const lock = ownedLock(statements, request.owner, now)
  if (lock === undefined) return 'lost'
  return isAnyDue(statements, request, now) || !sameBounds(boundsOf(lock), request.held) ? 'work' : 'idle'
}

/** Reads due rows for the owner of a lock and records what it then holds. */
export function pollPending(
  statements: PreparedStatements,
  request: PollRequest,
  now: number,
): readonly Row[] | undefined {
  const lock = ownedLock(statements, request.owner, now)
  if (lock === undefined) return undefined

  const rows = dueRows(statements, request, now)
  const bounds = boundsAround(request.held, rows)
  if (!sameBounds(boundsOf(lock), bounds)) {
    statements.recordBounds.run(bounds?.lowSeq ?? null, bounds?.highSeq ?? null, request.owner.lock)
  }
  return rows
}

function boundsOf({ lowSeq, highSeq }: LockRow): Bounds | null {
  return lowSeq === null || highSeq === null ? null : { lowSeq, highSeq }
}

function sameBounds(a: Bounds | null, b: Bounds | null): boolean {
  return a?.lowSeq === b?.lowSeq && a?.highSeq === b?.highSeq
}
