import { asRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import {
  type Bounds,
  boundsAround,
  type FencedRow,
  inDueOrder,
  isPending,
  type LockRequest,
  type OwnerFence,
  type PollRequest,
  type Row,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import { sameBounds } from '../../../../packages/sendoff/src/store/due-order.ts'
import type { LockRow, SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'
import { dueRows, type FoundRow, wishOf } from './due-rows.ts'

const nothing = { bounds: null, held: [] }

/** Returns whether a lock is the owner's now, by its newest state. */
export function isOwner(db: SimulatedDatabase, { lock, token }: OwnerFence): boolean {
  const row = db.locks.get(lock)?.committed
  return row?.token === token && row.until > db.now()
}

/**
 * Takes a lock. If its last owner vanished, counts a loss for every row that it held, as the rows were when
 * the statement began.
 */
export function* acquireLock(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { lock, token, ttlMs, destination }: LockRequest,
): Program<boolean> {
  const beganAt = db.now()
  const snapshot = db.pending(inDueOrder)
  const ofDestination = snapshot.filter(
    ({ row }) => destination === undefined || row.destination === destination,
  )
  const cell = db.lockCell(lock)
  yield* tx.lock(cell)
  const old = cell.committed
  if (old !== undefined && old.token !== token && old.until > beganAt) return false

  const isOwn = old?.token === token
  const { bounds, held } = isOwn ? old : nothing
  tx.write<LockRow>(cell, { token, until: db.timeIn(ttlMs), bounds, held })
  if (old !== undefined && !isOwn) {
    yield 'pause'
    const counted = new Set([...withinBounds(ofDestination, old.bounds), ...unchanged(snapshot, old.held)])
    yield* countLosses(db, tx, [...counted])
  }
  yield 'pause'
  return true
}

/** Extends a lock. Returns false if it was lost. */
export function* renewLock(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { lock, token, ttlMs }: LockRequest,
): Program<boolean> {
  const fence = { lock, token }
  yield 'pause'
  if (!isOwner(db, fence)) return false
  const cell = db.lockCell(lock)
  yield* tx.lock(cell, 'noKeyUpdate')
  if (!isOwner(db, fence)) return false
  tx.write(cell, { ...cell.committed!, until: db.timeIn(ttlMs) })
  yield 'pause'
  return true
}

/** Frees a lock, if it is the owner's. */
export function* releaseLock(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { lock, token }: OwnerFence,
): Program<void> {
  yield 'pause'
  const cell = db.lockCell(lock)
  if (cell.committed?.token !== token) return
  yield* tx.lock(cell)
  if (cell.committed?.token === token) tx.write(cell, undefined)
  yield 'pause'
}

/**
 * Reads due rows for the owner of a lock. A renewal waits for the lock row, and reads the rows as they were
 * before the wait. What the owner then holds is recorded by the same statement if the limit is low, and
 * otherwise by a second one.
 */
export function* pollPending(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: PollRequest,
): Program<readonly Row[] | undefined> {
  const { owner, limit, held, renewMs } = request
  const rows = dueRows(db, wishOf(request))
    .slice(0, Math.max(0, limit))
    .map(({ row }) => asRow(row))
  if (renewMs !== undefined) {
    if (!(yield* renewLock(db, tx, { ...owner, ttlMs: renewMs }))) return undefined
  } else if (!isOwner(db, owner)) return undefined
  const cell = db.lockCell(owner.lock)
  const recorded = (tx.read(cell) ?? cell.committed)?.bounds ?? null
  const bounds = boundsAround(held, rows)
  if (renewMs === undefined && limit <= fewRows) {
    yield 'pause'
    if (sameBounds(recorded, bounds)) return rows
    return (yield* writeBounds(db, tx, owner, bounds)) ? rows : undefined
  }
  tx.commit()
  yield 'pause'

  if (sameBounds(recorded, bounds)) return rows
  return (yield* recordBounds(db, owner, bounds)) ? rows : undefined
}

/** Of the limits that come up in a simulation, about half are not above this. */
const fewRows = 10

function* recordBounds(db: SimulatedDatabase, owner: OwnerFence, bounds: Bounds | null): Program<boolean> {
  const tx = db.begin('recordHeld')
  try {
    if (!(yield* writeBounds(db, tx, owner, bounds))) return false
    db.commit(tx)
    return true
  } finally {
    db.rollback(tx)
  }
}

function* writeBounds(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  owner: OwnerFence,
  bounds: Bounds | null,
): Program<boolean> {
  const cell = db.lockCell(owner.lock)
  if (!isOwner(db, owner)) return false
  yield* tx.lock(cell, 'noKeyUpdate')
  if (!isOwner(db, owner)) return false
  tx.write(cell, { ...cell.committed!, bounds })
  yield 'pause'
  return true
}

/** Records the rows that an owner holds. A crash of the database may lose it. */
export function* holdRows(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  owner: OwnerFence,
  rows: readonly FencedRow[],
): Program<boolean> {
  yield 'pause'
  if (!isOwner(db, owner)) return false
  const cell = db.lockCell(owner.lock)
  yield* tx.lock(cell, 'noKeyUpdate')
  if (!isOwner(db, owner)) return false
  tx.write(cell, { ...cell.committed!, held: rows.map(({ seq, deliveries }) => ({ seq, deliveries })) })
  yield 'pause'
  return true
}

/** Counts a loss for rows that were found, unless others have changed them since. */
export function* countLosses(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  found: readonly FoundRow[],
): Program<void> {
  for (const { cell, row } of found) {
    yield* tx.lock(cell, 'noKeyUpdate')
    const now = cell.committed
    if (now === undefined || !isFree(now) || now.deliveries !== row.deliveries) continue
    db.writeEvent(tx, cell, { ...now, losses: now.losses + 1, deliveries: now.deliveries + 1 })
  }
}

/** Returns the rows that lock rows name as held, if they were the same when the statement began. */
export function unchanged(snapshot: readonly FoundRow[], held: readonly FencedRow[]): readonly FoundRow[] {
  const bySeq = new Map(held.map(({ seq, deliveries }) => [seq, deliveries]))
  return snapshot.filter(({ row }) => isFree(row) && bySeq.get(row.seq) === row.deliveries)
}

function withinBounds(snapshot: readonly FoundRow[], bounds: Bounds | null): readonly FoundRow[] {
  if (bounds === null) return []
  return snapshot.filter(
    ({ row }) =>
      isFree(row) &&
      row.blockedAt === null &&
      inDueOrder(row, bounds.low) >= 0 &&
      inDueOrder(row, bounds.high) <= 0,
  )
}

function isFree(row: StoredRow): boolean {
  return isPending(row.status) && row.lockedBy === null
}
