import type { OwnerFence } from './owners.ts'
import type { DuePlace, HeldRow, Row, RowId } from './rows.ts'

/** For processes that deliver: they claim rows, hold them by a lease, and settle them under its fence. */
export interface OutboxLeases {
  /**
   * Takes up to `limit` due rows that no process holds and no control pauses, oldest due time first,
   * and leases them.
   * Raises `deliveries` of each, and `losses` of those whose last holder never let go.
   */
  claim(request: ClaimRequest): Promise<readonly Row[]>

  /**
   * Claims as `claim` does, but only rows of the named types; others stay as they are. Looks at no more than `window` due
   * rows, so that no call takes long however many rows of other types are due, and returns where to go on.
   */
  claimTypes(request: ClaimTypesRequest): Promise<ClaimTypesAnswer>

  /** Leases held rows anew. Returns, as the very objects handed in, those that were lost meanwhile. */
  renew(request: RenewRequest): Promise<readonly HeldRow[]>

  /**
   * Hands leased rows back: they are free at once, with their crash counter as it was, since a row
   * that was let go of unrun has proved nothing. Rows lost meanwhile are left alone.
   */
  release(rows: readonly HeldRow[]): Promise<void>

  /**
   * Records outcomes and returns, as the very objects handed in, the settlements that were refused
   * because the process that settles the row no longer holds it. Those rows are left untouched: their new holder decides. Rows
   * read without a claim (`lockedBy` null) are settled only while `owner` still has its lock, and those with an `epoch`
   * only while their partition is its, too, at that epoch.
   */
  settle(request: SettleRequest): Promise<readonly Settlement[]>
}

/** The hold of one process on a row, until it runs out. */
export interface Lease {
  /** Unique per process start. */
  readonly owner: string
  readonly ms: number
}

/** Which rows to claim, and the lease to claim them with. */
export interface ClaimRequest {
  readonly lease: Lease
  readonly limit: number
  /** Only these rows; those already leased by `lease.owner` included, and no loss counted for them. */
  readonly rows?: readonly RowId[]
  /** Only rows at or behind this place in due order. */
  readonly from?: DuePlace
  /** Leaves rows alone that were written less than so many milliseconds ago. */
  readonly skipRecentMs?: number
}

/** Names a kind of event: what a listener is registered for. */
export interface TypeName {
  readonly aggregateType: string
  readonly eventType: string
}

/** Which rows of which types to claim. */
export interface ClaimTypesRequest extends Omit<ClaimRequest, 'rows'> {
  /** Only rows of these types. */
  readonly types: readonly TypeName[]
  /** How many due rows to look at. */
  readonly window: number
}

/** Rows that were claimed by their types. */
export interface ClaimTypesAnswer {
  readonly rows: readonly Row[]
  /** The place behind the last row that was looked at; undefined when everything due has been looked at. */
  readonly next: DuePlace | undefined
}

/** Held rows, and the lease that they get. */
export interface RenewRequest {
  readonly rows: readonly HeldRow[]
  readonly lease: Lease
}

/** Outcomes to record together. */
export interface SettleRequest {
  readonly settlements: readonly Settlement[]
  /** Proves the right to rows that were read without a claim. */
  readonly owner?: OwnerFence | undefined
}

/** A held row, and what became of its delivery. */
export interface Settlement {
  readonly row: HeldRow
  readonly outcome: Outcome
}

/**
 * What became of a delivery. A `failure` is added to the history of failed attempts.
 *
 * - `done`: DONE. `delete`: the row is removed.
 * - `retry`: RETRY, due again after `delayMs`, which is at most `maxDelayMs`.
 * - `defer`: NEW, due again after `delayMs`; `attempts` stays.
 * - `block`: stays pending but is not due until a person decides.
 * - `dead`: DEAD.
 */
export type Outcome =
  | { readonly kind: 'done' | 'delete'; readonly failure?: Failure }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failure: Failure }
  | { readonly kind: 'defer'; readonly delayMs: number; readonly reason?: string; readonly quiet?: boolean }
  | { readonly kind: 'block' | 'dead'; readonly failure: Failure }

/** Why a delivery failed. */
export interface Failure {
  /** Starts with the error's class. Stores cut it at `maxErrorLength` characters, as `storedErrorText` does. */
  readonly error: string
  /** Whether it raises `attempts`. */
  readonly counted: boolean
}
