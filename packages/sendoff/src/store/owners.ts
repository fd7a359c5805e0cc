import type { DuePlace, Row } from './rows.ts'

/** For the owner of a lock, which reads the rows that it delivers without claims. */
export interface OutboxOwners {
  readonly locks: OutboxLocks

  /**
   * Reads due rows that no control pauses, in due order, without leasing them: the owner of a lock needs no
   * claims. Rows whose lease has run out come along with their `lockedBy`, for the owner to claim. In the
   * same step, records in the lock row the bounds of what the owner then holds. Returns undefined, and reads
   * nothing, if the lock is no longer the owner's.
   */
  pollPending(request: PollRequest): Promise<readonly Row[] | undefined>
}

/** Proof of ownership. The store checks it before a settlement, or a read without a claim. */
export interface OwnerFence {
  readonly lock: string
  readonly token: string
}

/** Named locks with a time limit. The row of a lock also records what its owner holds. */
export interface OutboxLocks {
  /**
   * Takes the lock if it is free, has run out or is `token`'s already; returns false otherwise.
   *
   * If the last owner vanished, the same step counts its losses. It counts a loss for every pending row
   * within the bounds of the last owner that no process has leased since. It raises `deliveries` of these
   * rows, and forgets the bounds. It does the same for the rows that the last owner recorded as held, if they
   * have not changed since.
   */
  acquire(request: LockRequest): Promise<boolean>
  /** Extends the lock while it is `token`'s and has not run out. Returns false if it was lost. */
  renew(request: LockRequest): Promise<boolean>
  /** Releases the lock if it is `token`'s, and forgets its bounds. */
  release(fence: OwnerFence): Promise<void>
}

/** A lock, its owner, and how long it lasts. */
export interface LockRequest extends OwnerFence {
  readonly ttlMs: number
  /** Within bounds, an acquisition counts losses of rows for this destination only. Default: for any. */
  readonly destination?: string
}

/** A read of due rows by the owner of a lock. */
export interface PollRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /**
   * The bounds of what the owner holds already. The store records them together with the rows that it reads.
   */
  readonly held: Bounds | null
  /** Reads only rows at or behind this place. */
  readonly from?: DuePlace
  readonly skipRecentMs?: number
  /** Reads only rows for this destination. Default: for any. */
  readonly destination?: string
  /** Extends the lock to this many milliseconds from now, in the same step. */
  readonly renewMs?: number
}

/** A range of due order, both ends included. */
export interface Bounds {
  readonly low: DuePlace
  readonly high: DuePlace
}
