import type { OwnerFence } from './owners.ts'
import type { DuePlace, FencedRow, Row } from './rows.ts'

/** Rows in write order: all of them as one lane, or one lane for each ordering key. */
export interface OutboxLanes<Tx> {
  /**
   * Lets no other transaction lock one of these keys until this one ends, so that the order of writing is the order of
   * commits. Takes all locks in one order before it resolves. `partitions` locks whole partitions, where there are too many keys to
   * lock each; `all` stands for every key there is.
   */
  lock(request: KeyLockRequest<Tx>): Promise<void>
  /**
   * Finds keys with due rows, and reads their rows and those of the keys that are named, in write order from each key's first one that
   * is pending. Rows that have to wait come along, unless they were written for later and no process has had them yet. Undefined, and
   * reads nothing, when the lock is no longer the owner's.
   */
  read(request: LaneRequest): Promise<LaneAnswer | undefined>
  /** The same for all pending rows as one lane, whatever their keys: up to `limit` of them. Any lock will do. */
  readAll(request: OneLaneRequest): Promise<readonly OrderedRow[] | undefined>
  /**
   * Remembers, in the lock row, which rows the owner holds, for the process that ends its part or takes its lock over. False when the
   * lock is no longer its. A crash of the database may forget what it was told last.
   */
  hold(request: HoldRequest): Promise<boolean>
}

/** The keys to lock, and the transaction that locks them. */
export interface KeyLockRequest<Tx> {
  readonly tx: Tx
  readonly keys: KeyLocks
}

/** Ordering keys by name, by their partitions, or all of them. */
export type KeyLocks = readonly string[] | { readonly partitions: readonly number[] } | 'all'

/** What the owner of a lock wants to read, key by key. */
export interface LaneRequest {
  readonly owner: OwnerFence
  /** Only keys, and rows without a key, of these partitions are found. */
  readonly partitions: readonly number[]
  /** Keys to read in any case. */
  readonly keys: readonly string[]
  /** Keys that are not to be found, and the ids of events without a key. */
  readonly except: readonly string[]
  /** Only what is due at or behind this place is found. */
  readonly from?: DuePlace
  /** How many due rows to look at for finding keys. */
  readonly window: number
  /** How many rows to find at most. Of a key that is found, all rows that follow count as found. */
  readonly limit: number
  /** How many rows to read of each key. */
  readonly perKey: number
  /** Passes over rows that have to wait, instead of reading them as well. */
  readonly skipWaiting?: boolean
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

/** What the owner of a lock wants to read, whatever the keys. */
export interface OneLaneRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /** Only rows written after the one of this number. */
  readonly afterSeq?: number
  /** Extends the lock by so much from now, in the same step. */
  readonly renewMs?: number
}

/** A row as read for its place in an order, which it has whether or not it may be delivered now. */
export interface OrderedRow extends Row {
  /**
   * 0 where it may be delivered now. Otherwise what is left until it is due, or until the lease that another process has on it
   * ends; Infinity where that is for people to say: it is blocked, paused, or its key is parked.
   */
  readonly waitMs: number
}

/** Rows that were read key by key. */
export interface LaneAnswer {
  /** Those of one key stand together and in write order. */
  readonly rows: readonly OrderedRow[]
  /** Where to go on finding keys; undefined when everything due has been looked at. */
  readonly next: DuePlace | undefined
}

/** The rows that an owner holds from now on. */
export interface HoldRequest {
  readonly owner: OwnerFence
  readonly rows: readonly FencedRow[]
}
