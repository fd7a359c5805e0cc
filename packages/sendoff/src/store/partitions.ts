import type { OwnerFence } from './owners.ts'

/**
 * Which process delivers which ordering keys.
 *
 * The keys are divided into partitions, and each partition belongs to one process at a time. A process takes
 * part by holding a lock of its own, `participantLock(token)`. All partitions of the process last as long as
 * this lock. A row without a key belongs to the partition that `partitionOfRow` returns.
 */
export interface OutboxPartitions {
  /**
   * Returns the participants, and the owner of each partition.
   *
   * First expires dead participants, whose locks have run out. It counts a loss for each row that they
   * recorded as held, raises its `deliveries`, and frees their partitions. A row counts no loss if it was
   * leased or settled, or its partition was released, since then.
   *
   * A store may leave a dead participant among the others while it still carries out one of its settlements.
   *
   * Returns undefined if the lock is no longer the owner's.
   */
  shares(owner: OwnerFence): Promise<PartitionShares | undefined>
  /** Returns the same for an operator, without an owner. Changes nothing, and names no dead participant. */
  look(): Promise<PartitionShares>
  /**
   * Takes partitions that no process owns, and raises the epoch of each. Returns those that the owner got;
   * none if the lock is no longer the owner's.
   */
  acquire(request: AcquirePartitionsRequest): Promise<readonly OwnedPartition[]>
  /**
   * Releases partitions that are the owner's at the epochs that it names. A late request thus takes away
   * nothing that the owner got again since. A process that releases its lock frees its partitions, too.
   */
  release(request: ReleasePartitionsRequest): Promise<void>
}

/** The partitions that an owner asks for. */
export interface AcquirePartitionsRequest {
  readonly owner: OwnerFence
  readonly partitions: readonly number[]
}

/** The partitions that an owner releases. */
export interface ReleasePartitionsRequest {
  readonly owner: OwnerFence
  readonly partitions: readonly OwnedPartition[]
}

/** The participants, and the owner of each partition. */
export interface PartitionShares {
  /** The tokens of all participants, including the caller's. */
  readonly participants: readonly string[]
  /** One entry for each partition, in order. */
  readonly partitions: readonly PartitionShare[]
  /**
   * Milliseconds until the first lock of another participant runs out, unless it is renewed. Infinity without
   * another.
   */
  readonly nextEndMs: number
}

/** A partition, its owner and its epoch. */
export interface PartitionShare {
  readonly partition: number
  /** The token of its owner; null if no process owns it. */
  readonly owner: string | null
  readonly epoch: number
}

/** A partition that a process owns, at an epoch. */
export interface OwnedPartition {
  readonly partition: number
  /** Rises with every change of owner. */
  readonly epoch: number
}

/** Returns the name of the lock by which a process takes part in sharing partitions. */
export function participantLock(token: string): string {
  return `${participantPrefix}${token}`
}

/** The prefix of the names of all participant locks. */
export const participantPrefix = 'partitions/'
