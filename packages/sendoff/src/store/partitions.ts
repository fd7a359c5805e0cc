import type { OwnerFence } from './owners.ts'

/**
 * Which process delivers which ordering keys. The keys are divided into partitions, and each partition belongs to one process at a
 * time. A process takes part by holding a lock of its own, called `participantLock(token)`: its time limit is that of all
 * partitions that the process owns. Rows without a key belong to the partition `partitionOfRow` says.
 */
export interface OutboxPartitions {
  /**
   * Who takes part, and who owns what. Before that, ends the part of every process whose lock has run out: counts
   * a loss for every row that they said they hold, raises its `deliveries`, unless it was leased or settled or its partition given
   * up since, and frees their partitions. Undefined when the lock is no longer the owner's.
   */
  shares(owner: OwnerFence): Promise<PartitionShares | undefined>
  /**
   * Takes partitions that no process owns, and raises the epoch of each. Returns those that it got; nothing when the lock is no
   * longer the owner's.
   */
  acquire(request: AcquirePartitionsRequest): Promise<readonly OwnedPartition[]>
  /**
   * Gives partitions up that are the owner's at the epochs that it names, so that a request that comes late takes nothing from it that
   * it got again since. A process that gives its lock up frees its partitions as well.
   */
  release(request: ReleasePartitionsRequest): Promise<void>
}

/** The partitions that an owner wants. */
export interface AcquirePartitionsRequest {
  readonly owner: OwnerFence
  readonly partitions: readonly number[]
}

/** The partitions that an owner gives up. */
export interface ReleasePartitionsRequest {
  readonly owner: OwnerFence
  readonly partitions: readonly OwnedPartition[]
}

/** Who takes part, and who owns what. */
export interface PartitionShares {
  /** The tokens of the processes that take part, the asker's included. */
  readonly participants: readonly string[]
  /** One for each partition, in order. */
  readonly partitions: readonly PartitionShare[]
  /** When the first lock of another participant runs out unless it is renewed. */
  readonly nextEndMs: number
}

/** A partition and its owner. */
export interface PartitionShare {
  readonly partition: number
  /** A token; null where no process owns it. */
  readonly owner: string | null
  readonly epoch: number
}

/** A partition as its owner has it. */
export interface OwnedPartition {
  readonly partition: number
  /** Rises with every change of owner. */
  readonly epoch: number
}

/** The lock by which a process takes part in sharing partitions. */
export function participantLock(token: string): string {
  return `${participantPrefix}${token}`
}

/** What the names of all such locks start with. */
export const participantPrefix = 'partitions/'
