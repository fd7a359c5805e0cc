import type { DuePlace, Row } from './rows.ts'

/** For the owner of a lock, who reads what it delivers without claims. */
export interface OutboxOwners {
  readonly locks: OutboxLocks

  /**
   * Reads due rows that no control pauses without leasing them, in due order: for the
   * holder of a lock, who needs no claims. Rows whose lease has run out come along with their `lockedBy`, to be
   * claimed. Records in the lock row, in the same step, the bounds of what the owner then holds.
   * Returns undefined, and reads nothing, when the lock is no longer the owner's.
   */
  pollPending(request: PollRequest): Promise<readonly Row[] | undefined>
}

/** Proof of ownership that the store checks a settlement or an unclaimed read against. */
export interface OwnerFence {
  readonly lock: string
  readonly token: string
}

/** Named locks with a time limit, each a row that also remembers what its owner holds. */
export interface OutboxLocks {
  /**
   * Takes the lock if it is free, has run out or is `token`'s already; false otherwise. Where the
   * last owner vanished, the same step counts a loss for every pending row within the bounds it left
   * behind that no process has leased since, raises its `deliveries`, and forgets the bounds. The same goes for the rows
   * that it said it holds, as far as they are as they were then.
   */
  acquire(request: LockRequest): Promise<boolean>
  /** Extends the lock while it is `token`'s and has not run out; false when it was lost. */
  renew(request: LockRequest): Promise<boolean>
  /** Gives the lock up if it is `token`'s, and forgets its bounds. */
  release(fence: OwnerFence): Promise<void>
}

/** A lock, its owner, and how long it lasts. */
export interface LockRequest extends OwnerFence {
  readonly ttlMs: number
}

/** What the owner of a lock wants to read. */
export interface PollRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /** What the owner holds already; recorded together with the rows that are read. */
  readonly held: Bounds | null
  /** Only rows at or behind this place. */
  readonly from?: DuePlace
  readonly skipRecentMs?: number
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

/** From one place in due order to another, both included. */
export interface Bounds {
  readonly low: DuePlace
  readonly high: DuePlace
}
