import type { OwnerFence } from './owners.ts'
import type { DuePlace, FencedRow, Row } from './rows.ts'

/** Rows in write order: all of them as one lane, or one lane for each ordering key. */
export interface OutboxLanes<Tx> {
  /**
   * Locks ordering keys until the transaction ends. No other transaction can lock one of them meanwhile, so
   * write order is commit order. Takes all locks in one fixed order before it resolves. `partitions` locks
   * whole partitions, if there are too many keys to lock each. `all` stands for every key there is.
   */
  lock(request: KeyLockRequest<Tx>): Promise<void>
  /**
   * Finds keys with due rows. Reads their rows and those of the named keys, in write order from each key's
   * first pending row. Rows that have to wait come along, unless they were written for later and no process
   * has held them yet. Returns undefined, and reads nothing, if the lock is no longer the owner's.
   */
  read(request: LaneRequest): Promise<LaneAnswer | undefined>
  /**
   * Reads all pending rows as one lane, whatever their keys: up to `limit` of them. Any lock will do.
   * Otherwise like `read`.
   */
  readAll(request: OneLaneRequest): Promise<readonly OrderedRow[] | undefined>
  /**
   * Records in the lock row which rows the owner holds. The process that expires this participant, or takes
   * its lock over, reads them there. Returns false if the lock is no longer the owner's. A crash of the
   * database may lose the last record.
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

/** A read of rows key by key, by the owner of a lock. */
export interface LaneRequest {
  readonly owner: OwnerFence
  /** Finds only keys, and rows without a key, of these partitions. */
  readonly partitions: readonly number[]
  /** Keys to read even if the search does not find them. */
  readonly keys: readonly string[]
  /** Ordering keys, and ids of events without a key, that the search skips. */
  readonly except: readonly string[]
  /**
   * Finds and reads only rows for this destination, as if there were no others. Keys are parked for each
   * destination. Default: rows for any.
   */
  readonly destination?: string
  /** Finds only rows due at or behind this place. */
  readonly from?: DuePlace
  /** How many due rows to examine for finding keys. */
  readonly window: number
  /** How many rows to find at most. Once a key is found, all its further rows count as found, too. */
  readonly limit: number
  /** How many rows to read of each key. */
  readonly perKey: number
  /** Skips rows that have to wait, instead of reading them too. */
  readonly skipWaiting?: boolean
  /** Extends the lock to this many milliseconds from now, in the same step. */
  readonly renewMs?: number
}

/** A read of rows as one lane, by the owner of a lock. */
export interface OneLaneRequest {
  readonly owner: OwnerFence
  readonly limit: number
  /** Reads only rows with a higher `seq`. */
  readonly afterSeq?: number
  /** Extends the lock to this many milliseconds from now, in the same step. */
  readonly renewMs?: number
}

/** A row as read in order. It keeps its place even if it may not be delivered now. */
export interface OrderedRow extends Row {
  /**
   * Milliseconds until the row may be delivered: 0 for now. Otherwise the time until it is due, or until
   * another process's lease on it ends. Infinity if an operator has to decide: the row is blocked or paused,
   * or its key is parked.
   */
  readonly waitMs: number
}

/** Rows that were read key by key. */
export interface LaneAnswer {
  /** The rows of one key stand together, in write order. */
  readonly rows: readonly OrderedRow[]
  /** Where the search for keys continues; undefined if it examined everything due. */
  readonly next: DuePlace | undefined
}

/** The rows that an owner holds from now on. */
export interface HoldRequest {
  readonly owner: OwnerFence
  readonly rows: readonly FencedRow[]
}
