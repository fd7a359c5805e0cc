import type { Bounds, LockRequest, OutboxLocks, OwnerFence } from '../../store/index.ts'
import type { DestinationIndexes } from '../sql/destination-indexes.ts'
import { heldPairs } from '../sql/held-text.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** The named locks of an SQLite store. */
export function sqliteLocks(own: OwnDriver, destinations: DestinationIndexes): OutboxLocks {
  return {
    acquire: (request) =>
      own.write((statements, now) => acquireLock(statements, request, now, destinations.cover(request))),
    renew: (request) => own.write((statements, now) => renewLock(statements, request, now)),
    release: (fence) => own.write((statements) => releaseLock(statements, fence)),
  }
}

/** A lock as it is stored, with what its owner holds. */
export interface LockRow {
  readonly token: string
  readonly until: number
  readonly lowAt: number | null
  readonly lowSeq: number | null
  readonly highAt: number | null
  readonly highSeq: number | null
  readonly held: string | null
}

function acquireLock(
  statements: PreparedStatements,
  { lock: name, token, ttlMs, destination }: LockRequest,
  now: number,
  byDestination: boolean,
): boolean {
  const lock = statements.lock.get(name) as LockRow | undefined
  if (lock !== undefined && lock.token !== token && lock.until > now) return false

  statements.takeLock.run(name, token, Math.ceil(now + ttlMs))
  if (lock !== undefined && lock.token !== token) {
    countLosses(statements, name, lock, destination, byDestination)
  }
  return true
}

/** Counts a loss for each row that the last owner of a lock still held when it vanished. */
function countLosses(
  statements: PreparedStatements,
  name: string,
  lock: LockRow,
  destination: string | undefined,
  byDestination: boolean,
): void {
  const left = boundsOf(lock)
  if (left !== null) {
    if (byDestination) statements.countLossesOf.run(destination!, ...endsOf(left))
    else statements.countLosses.run(...endsOf(left), destination ?? null, destination ?? null)
  }
  if (lock.held !== null) statements.countLossesOfHeld.run(heldPairs(lock.held))
  if (left !== null || lock.held !== null) statements.forgetHeld.run(name)
}

/** Extends a lock. Returns false if the owner has lost it. */
export function renewLock(
  { renewLock: statement }: PreparedStatements,
  { lock, token, ttlMs }: LockRequest,
  now: number,
): boolean {
  return Number(statement.run(Math.ceil(now + ttlMs), lock, token, now).changes) > 0
}

function releaseLock({ releaseLock: statement }: PreparedStatements, { lock, token }: OwnerFence): void {
  statement.run(lock, token)
}

/** Returns the lock row, if the lock is the owner's and has not run out. */
export function ownedLock(
  statements: PreparedStatements,
  { lock: name, token }: OwnerFence,
  now: number,
): LockRow | undefined {
  const lock = statements.lock.get(name) as LockRow | undefined
  return lock !== undefined && lock.token === token && lock.until > now ? lock : undefined
}

/** Returns the bounds of what the owner of a lock holds. */
export function boundsOf({ lowAt, lowSeq, highAt, highSeq }: LockRow): Bounds | null {
  if (lowAt === null || lowSeq === null || highAt === null || highSeq === null) return null
  return { low: { availableAt: lowAt, seq: lowSeq }, high: { availableAt: highAt, seq: highSeq } }
}

/** Bounds as statements take them: due time and `seq` of both ends. */
export function endsOf({ low, high }: Bounds): [number, number, number, number] {
  return [low.availableAt, low.seq, high.availableAt, high.seq]
}
