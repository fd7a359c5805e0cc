import type {
  FencedRow,
  OwnedPartition,
  OwnerFence,
  PartitionShare,
  PartitionShares,
} from '../../store/index.ts'
import { heldPairs, heldText } from '../sql/held-text.ts'
import { ownedLock } from './sqlite-locks.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Who takes part and who owns what; `lapsed` where somebody's part has to be ended before that. */
export function readShares(
  statements: PreparedStatements,
  owner: OwnerFence,
  now: number,
): PartitionShares | 'lapsed' | undefined {
  if (ownedLock(statements, owner, now) === undefined) return undefined

  const living = statements.participants.all() as { token: string; until: number }[]
  if (living.some(({ until }) => until <= now)) return 'lapsed'

  const participants = new Set(living.map(({ token }) => token))
  const partitions = statements.partitions.all() as PartitionShare[]
  const ends = living.filter(({ token }) => token !== owner.token).map(({ until }) => until - now)
  return {
    participants: [...participants],
    partitions: partitions.map(({ partition, owner: token, epoch }) => ({
      partition,
      owner: token !== null && participants.has(token) ? token : null,
      epoch,
    })),
    nextEndMs: Math.min(...ends),
  }
}

/** Ends the part of everybody whose lock has run out, and then reads the shares. */
export function endLapsedParts(
  statements: PreparedStatements,
  owner: OwnerFence,
  now: number,
): PartitionShares | undefined {
  if (ownedLock(statements, owner, now) === undefined) return undefined

  for (const { token, held } of statements.endParts.all(now) as { token: string; held: string | null }[]) {
    if (held !== null) statements.countLossesOfOwned.run(heldPairs(held), token)
  }
  return readShares(statements, owner, now) as PartitionShares
}

export function acquirePartitions(
  statements: PreparedStatements,
  owner: OwnerFence,
  partitions: readonly number[],
  now: number,
): readonly OwnedPartition[] {
  if (ownedLock(statements, owner, now) === undefined) return []

  const taken = statements.takePartitions.all(owner.token, JSON.stringify(partitions)) as OwnedPartition[]
  return taken.map(({ partition, epoch }) => ({ partition, epoch })).sort((a, b) => a.partition - b.partition)
}

export function releasePartitions(
  { releasePartitions: statement }: PreparedStatements,
  { token }: OwnerFence,
  partitions: readonly OwnedPartition[],
): void {
  statement.run(JSON.stringify(partitions.map(({ partition, epoch }) => [partition, epoch])), token)
}

/** Whether the lock is still the owner's, so that what it holds is remembered. */
export function holdRows(
  { hold }: PreparedStatements,
  { lock, token }: OwnerFence,
  rows: readonly FencedRow[],
  now: number,
): boolean {
  return Number(hold.run(heldText(rows), lock, token, now).changes) > 0
}
