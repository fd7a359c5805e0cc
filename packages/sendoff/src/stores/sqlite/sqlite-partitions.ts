import type {
  OutboxPartitions,
  OwnedPartition,
  OwnerFence,
  PartitionShare,
  PartitionShares,
} from '../../store/index.ts'
import { heldPairs } from '../sql/held-text.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { ownedLock } from './sqlite-locks.ts'

/** The partitions of an SQLite store. */
export function sqlitePartitions(own: OwnDriver): OutboxPartitions {
  return {
    shares: (owner) => readShares(own, owner),
    look: () => own.snapshot(lookAtShares),
    acquire: ({ owner, partitions }) =>
      own.write((statements, now) => acquirePartitions(statements, owner, partitions, now)),
    release: ({ owner, partitions }) =>
      own.write((statements) => releasePartitions(statements, owner, partitions)),
  }
}

/**
 * Reads the participants and the owners of partitions. Takes the write lock only if it has to expire dead
 * participants first.
 */
function readShares(own: OwnDriver, owner: OwnerFence): Promise<PartitionShares | undefined> {
  return own.alone(async (session) => {
    const shares = await session.snapshot((statements, now) => livingShares(statements, owner, now))
    if (shares !== 'lapsed') return shares
    return session.write((statements, now) => endLapsedParts(statements, owner, now))
  })
}

interface Participant {
  readonly token: string
  readonly until: number
}

/** Returns the shares; `lapsed` if the lock of a participant has run out. */
function livingShares(
  statements: PreparedStatements,
  owner: OwnerFence,
  now: number,
): PartitionShares | 'lapsed' | undefined {
  if (ownedLock(statements, owner, now) === undefined) return undefined

  const living = statements.participants.all() as Participant[]
  if (living.some(({ until }) => until <= now)) return 'lapsed'
  return sharesOf(statements, living, now, owner.token)
}

function lookAtShares(statements: PreparedStatements, now: number): PartitionShares {
  const participants = statements.participants.all() as Participant[]
  return sharesOf(
    statements,
    participants.filter(({ until }) => until > now),
    now,
  )
}

function sharesOf(
  statements: PreparedStatements,
  living: readonly Participant[],
  now: number,
  asker?: string,
): PartitionShares {
  const participants = new Set(living.map(({ token }) => token))
  const partitions = statements.partitions.all() as PartitionShare[]
  const ends = living.filter(({ token }) => token !== asker).map(({ until }) => until - now)
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

/** Expires dead participants, and then reads the shares. */
function endLapsedParts(
  statements: PreparedStatements,
  owner: OwnerFence,
  now: number,
): PartitionShares | undefined {
  if (ownedLock(statements, owner, now) === undefined) return undefined

  for (const { token, held } of statements.endParts.all(now) as { token: string; held: string | null }[]) {
    if (held !== null) statements.countLossesOfOwned.run(heldPairs(held), token)
  }
  return livingShares(statements, owner, now) as PartitionShares
}

function acquirePartitions(
  statements: PreparedStatements,
  owner: OwnerFence,
  partitions: readonly number[],
  now: number,
): readonly OwnedPartition[] {
  if (ownedLock(statements, owner, now) === undefined) return []

  const taken = statements.takePartitions.all(owner.token, JSON.stringify(partitions)) as OwnedPartition[]
  return taken.map(({ partition, epoch }) => ({ partition, epoch })).sort((a, b) => a.partition - b.partition)
}

function releasePartitions(
  { releasePartitions: statement }: PreparedStatements,
  { token }: OwnerFence,
  partitions: readonly OwnedPartition[],
): void {
  statement.run(JSON.stringify(partitions.map(({ partition, epoch }) => [partition, epoch])), token)
}
