import type { Bounds, LockRequest, OwnerFence, PollRequest, Row } from '../../store/index.ts'
import { heldPairs } from '../sql/held-text.ts'
import { boundsAround, sameBounds } from '../../store/due-order.ts'
import { dueRows, isAnyDue } from './claim-rows.ts'
import type { PreparedStatements } from './sql/statements.ts'

interface LockRow {
  readonly token: string
  readonly until: number
  readonly lowAt: number | null
  readonly lowSeq: number | null
  readonly highAt: number | null
  readonly highSeq: number | null
  readonly held: string | null
}

export function acquireLock(
  statements: PreparedStatements,
  { lock: name, token, ttlMs }: LockRequest,
  now: number,
): boolean {
  const lock = statements.lock.get(name) as LockRow | undefined
  if (lock !== undefined && lock.token !== token && lock.until > now) return false

  statements.takeLock.run(name, token, Math.ceil(now + ttlMs))
  if (lock !== undefined && lock.token !== token) {
    const left = boundsOf(lock)
    if (left !== null) statements.countLosses.run(...endsOf(left))
    if (lock.held !== null) statements.countLossesOfHeld.run(heldPairs(lock.held))
    if (left !== null || lock.held !== null) statements.forgetHeld.run(name)
  }
  return true
}

export function renewLock(
  { renewLock: statement }: PreparedStatements,
  { lock, token, ttlMs }: LockRequest,
  now: number,
): boolean {
  return Number(statement.run(Math.ceil(now + ttlMs), lock, token, now).changes) > 0
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
  if (request.renewMs !== undefined) return 'work'

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
    recordBounds(statements, request.owner.lock, bounds)
  }
  const { owner, renewMs } = request
  if (renewMs !== undefined) renewLock(statements, { ...owner, ttlMs: renewMs }, now)
  return rows
}

function recordBounds(statements: PreparedStatements, lock: string, bounds: Bounds | null): void {
  statements.recordBounds.run(...(bounds === null ? [null, null, null, null] : endsOf(bounds)), lock)
}

function endsOf({ low, high }: Bounds): [number, number, number, number] {
  return [low.availableAt, low.seq, high.availableAt, high.seq]
}

function boundsOf({ lowAt, lowSeq, highAt, highSeq }: LockRow): Bounds | null {
  if (lowAt === null || lowSeq === null || highAt === null || highSeq === null) return null
  return { low: { availableAt: lowAt, seq: lowSeq }, high: { availableAt: highAt, seq: highSeq } }
}
