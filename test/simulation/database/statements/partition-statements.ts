import {
  type AcquirePartitionsRequest,
  inDueOrder,
  type OwnedPartition,
  type OwnerFence,
  participantPrefix,
  partitionOfRow,
  type PartitionShares,
  type ReleasePartitionsRequest,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { LockRow, SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'
import { countLosses, isOwner, unchanged } from './lock-statements.ts'

/** Returns the owners of partitions. If a participant's lock has run out, expires it first. */
export function* readShares(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  owner: OwnerFence,
): Program<PartitionShares | undefined> {
  yield 'pause'
  if (!isOwner(db, owner)) return undefined
  if (participants(db).some(({ row }) => row.until <= db.now())) {
    yield 'pause'
    yield* endShares(db, tx)
    yield 'pause'
    tx.commit()
    yield 'pause'
    if (!isOwner(db, owner)) return undefined
  }
  const living = participants(db)
  const tokens = new Set(living.map(({ row }) => row.token))
  const others = living.filter(({ row }) => row.token !== owner.token)
  const answer: PartitionShares = {
    participants: [...tokens],
    partitions: db.partitions.map(({ committed }, partition) => ({
      partition,
      owner: committed!.owner !== null && tokens.has(committed!.owner) ? committed!.owner : null,
      epoch: committed!.epoch,
    })),
    nextEndMs: Math.min(...others.map(({ row }) => row.until - db.now())),
  }
  yield 'pause'
  return answer
}

/** Expires participants whose locks have run out, except those with a settlement under way. */
function* endShares(db: SimulatedDatabase, tx: DatabaseTransaction): Program<void> {
  const beganAt = db.now()
  const snapshot = db.pending(inDueOrder)
  const owners = db.partitions.map(({ committed }) => committed!.owner)
  const over = participants(db).filter(({ row }) => row.until <= beganAt)
  yield 'pause'
  for (const { name } of over) {
    const cell = db.lockCell(name)
    if (!cell.tryLock(tx, 'update')) continue
    const row = cell.committed
    if (row === undefined || row.until > beganAt) continue
    tx.write(cell, undefined)
    const held = unchanged(snapshot, row.held).filter(
      (each) => owners[partitionOfRow(each.row)] === row.token,
    )
    yield* countLosses(db, tx, held)
  }
}

/** Takes partitions that are free, and still were so when they were locked. */
export function* acquirePartitions(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { owner, partitions }: AcquirePartitionsRequest,
): Program<readonly OwnedPartition[]> {
  if (!isOwner(db, owner)) return []
  const tokens = new Set(participants(db).map(({ row }) => row.token))
  const free = partitions
    .map((partition) => ({ partition, before: db.partitions[partition]!.committed! }))
    .filter(({ before }) => before.owner === null || !tokens.has(before.owner))
  yield 'pause'
  const owned: OwnedPartition[] = []
  for (const { partition, before } of free) {
    const cell = db.partitions[partition]!
    if (cell.committed!.epoch !== before.epoch || !cell.tryLock(tx, 'update')) continue
    const epoch = before.epoch + 1
    tx.write(cell, { owner: owner.token, epoch })
    owned.push({ partition, epoch })
  }
  yield 'pause'
  return owned.sort((a, b) => a.partition - b.partition)
}

/** Frees partitions, after the settlements of their owner that are under way. */
export function* releasePartitions(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { owner, partitions }: ReleasePartitionsRequest,
): Program<void> {
  yield 'pause'
  const lock = db.lockCell(owner.lock)
  if (lock.committed?.token === owner.token) yield* tx.lock(lock)
  for (const { partition, epoch } of partitions) {
    const cell = db.partitions[partition]!
    if (cell.committed!.epoch !== epoch || cell.committed!.owner !== owner.token) continue
    yield* tx.lock(cell)
    const now = cell.committed!
    if (now.epoch === epoch && now.owner === owner.token) tx.write(cell, { ...now, owner: null })
  }
  yield 'pause'
}

function participants(db: SimulatedDatabase): { readonly name: string; readonly row: LockRow }[] {
  return [...db.locks].flatMap(([name, { committed: row }]) =>
    row !== undefined && name.startsWith(participantPrefix) ? [{ name, row }] : [],
  )
}
