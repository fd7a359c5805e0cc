import { asRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import {
  inDueOrder,
  type KeyLockRequest,
  type LaneAnswer,
  type LaneRequest,
  type OneLaneRequest,
  type OrderedRow,
  partitionOf,
  partitionOfRow,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import { inWriteOrder, type SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'
import { isOwner, renewLock } from './lock-statements.ts'

/** Locks ordering keys until the transaction ends, in one fixed order. */
export function* lockKeys(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { keys }: Pick<KeyLockRequest<never>, 'keys'>,
): Program<void> {
  const all = db.advisoryCell('all keys')
  if (keys === 'all') return yield* tx.lock(all)

  yield* tx.lock(all, 'keyShare')
  const isPartitions = 'partitions' in keys
  const partitions = isPartitions ? keys.partitions : [...new Set(keys.map((key) => partitionOf(key)))]
  for (const partition of [...new Set(partitions)].sort((a, b) => a - b)) {
    yield* tx.lock(db.advisoryCell(`partition ${partition}`), isPartitions ? 'update' : 'keyShare')
  }
  if (isPartitions) return
  for (const key of [...new Set(keys)].sort()) yield* tx.lock(db.advisoryCell(`key ${key}`))
}

/** Finds keys with due rows, and reads rows of keys in write order. */
export function* readLanes(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: LaneRequest,
): Program<LaneAnswer | undefined> {
  const answer = isOwner(db, request.owner) ? lanesNow(db, request) : undefined
  return (yield* ownerStays(db, tx, request)) ? answer : undefined
}

/** Reads all pending rows as one lane. */
export function* readOneLane(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  request: OneLaneRequest,
): Program<readonly OrderedRow[] | undefined> {
  const { afterSeq = 0, limit } = request
  const all = db.pending(inWriteOrder).flatMap(({ row }) => (row.seq > afterSeq ? [row] : []))
  const rows = firstOf(db, all, limit, false)
  return (yield* ownerStays(db, tx, request)) ? rows : undefined
}

function* ownerStays(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { owner, renewMs }: Pick<LaneRequest, 'owner' | 'renewMs'>,
): Program<boolean> {
  const wasOwner = isOwner(db, owner)
  if (renewMs === undefined) {
    yield 'pause'
    return wasOwner
  }
  return yield* renewLock(db, tx, { ...owner, ttlMs: renewMs })
}

function lanesNow(db: SimulatedDatabase, request: LaneRequest): LaneAnswer {
  const { partitions, except, from, perKey, skipWaiting = false, destination } = request
  const isFor = (row: StoredRow) => destination === undefined || row.destination === destination
  const limit = Math.max(0, request.limit)
  const window = limit > 0 && partitions.length > 0 ? request.window : 0
  const now = db.now()
  const looked = db
    .pending(inDueOrder)
    .map(({ row }) => row)
    .filter((row) => row.blockedAt === null && row.availableAt <= now)
    .filter((row) => row.lockedBy === null || row.lockedUntil! <= now)
    .filter((row) => from === undefined || inDueOrder(row, from) >= 0)
    .slice(0, window)
  const excepted = new Set(except)
  const found = looked
    .filter((row) => isFor(row) && partitions.includes(partitionOfRow(row)))
    .filter((row) => !excepted.has(row.orderingKey ?? row.eventId))
    .slice(0, limit)
  const last = found.length < limit ? (looked.length < window ? undefined : looked.at(-1)) : found.at(-1)

  const keys = new Set([...request.keys, ...found.flatMap(({ orderingKey }) => orderingKey ?? [])])
  const written = db.pending(inWriteOrder).map(({ row }) => row)
  const ofKeys = [...keys].flatMap((key) =>
    firstOf(
      db,
      written.filter((row) => row.orderingKey === key && isFor(row)),
      perKey,
      skipWaiting,
    ),
  )
  const keyless = found.filter((row) => row.orderingKey === null && !isHeldUp(db, row))
  return {
    rows: [...ofKeys, ...keyless.map((row) => ({ ...asRow(row), waitMs: 0 }))],
    next: last === undefined || limit === 0 ? undefined : { availableAt: last.availableAt, seq: last.seq },
  }
}

function firstOf(
  db: SimulatedDatabase,
  rows: readonly StoredRow[],
  limit: number,
  skipWaiting: boolean,
): OrderedRow[] {
  const now = db.now()
  return rows
    .filter((row) => row.availableAt <= now || row.deliveries > 0 || row.blockedAt !== null)
    .map((row) => ({ ...asRow(row), waitMs: waitOf(db, row, now) }))
    .filter(({ waitMs }) => !skipWaiting || waitMs === 0)
    .slice(0, Math.max(0, limit))
}

function waitOf(db: SimulatedDatabase, row: StoredRow, now: number): number {
  if (isHeldUp(db, row)) return Infinity
  const leaseMs = row.lockedBy === null ? 0 : row.lockedUntil! - now
  return Math.ceil(Math.max(0, leaseMs, row.availableAt - now))
}

function isHeldUp(db: SimulatedDatabase, row: StoredRow): boolean {
  return row.blockedAt !== null || db.isPaused(row)
}
