import type { OwnerFence } from './owners.ts'
import type { DuePlace, HeldRow, Row, RowId } from './rows.ts'

/** For processes that deliver: they claim rows, hold them by a lease, and settle them under its fence. */
export interface OutboxLeases {
  /**
   * Takes up to `limit` due rows that no process holds and no control pauses, oldest due time first, and
   * leases them. Raises `deliveries` of each row, and `losses` of a row whose last holder never released it.
   */
  claim(request: ClaimRequest): Promise<readonly Row[]>

  /**
   * Claims as `claim` does, but only rows of the named types; others stay as they are. Examines at most
   * `window` due rows, so that no call takes long, however many rows of other types, or for other
   * destinations, are due. Returns where the next call continues.
   */
  claimTypes(request: ClaimTypesRequest): Promise<ClaimTypesAnswer>

  /** Leases held rows anew. Returns the rows that were lost meanwhile, as the very objects handed in. */
  renew(request: RenewRequest): Promise<readonly HeldRow[]>

  /**
   * Hands leased rows back: they are free at once. Their losses stay as they were, since a row that was
   * released without running has proved nothing. Rows lost meanwhile are left alone.
   */
  release(rows: readonly HeldRow[]): Promise<void>

  /**
   * Records outcomes. Returns the refused settlements, as the very objects handed in: those of rows that the
   * process no longer holds. Their rows stay untouched, and their new holder decides.
   *
   * A row read without a claim (`lockedBy` null) is settled only while `owner` has its lock. If such a row
   * names an `epoch`, its partition must still be the owner's at that epoch, too.
   */
  settle(request: SettleRequest): Promise<readonly Settlement[]>
}

/** The right of one process to a row, for a while. */
export interface Lease {
  /** The process that holds the row. Unique per process start. */
  readonly owner: string
  readonly ms: number
}

/** Which rows to claim, and the lease to claim them with. */
export interface ClaimRequest {
  readonly lease: Lease
  readonly limit: number
  /** Claims only these rows. Rows already leased by `lease.owner` are included, and count no loss. */
  readonly rows?: readonly NamedRow[]
  /** Claims only rows at or behind this place in due order. */
  readonly from?: DuePlace
  /** Claims no rows that were written less than this many milliseconds ago. */
  readonly skipRecentMs?: number
  /** Claims only rows for this destination, unless `rows` names some. Default: for any. */
  readonly destination?: string
}

/** A row to claim by its row id. */
export interface NamedRow extends RowId {
  /**
   * Claims the row only while it has this fence and this holder. A claim that arrives late then takes nothing
   * from the next holder. Default: claims it in any state that allows a claim.
   */
  readonly unchanged?: Pick<HeldRow, 'deliveries' | 'lockedBy'>
}

/** A kind of event, as a listener is registered for it. */
export interface TypeName {
  readonly aggregateType: string
  readonly eventType: string
}

/** The rows to claim, by their types. */
export interface ClaimTypesRequest extends Omit<ClaimRequest, 'rows'> {
  /** Claims only rows of these types. Default: of any. */
  readonly types?: readonly TypeName[] | undefined
  /** How many due rows to examine. */
  readonly window: number
}

/** The rows that `claimTypes` claimed, and where the next call continues. */
export interface ClaimTypesAnswer {
  readonly rows: readonly Row[]
  /** The place behind the last row examined; undefined if the claim examined everything due. */
  readonly next: DuePlace | undefined
}

/** Held rows, and their new lease. */
export interface RenewRequest {
  readonly rows: readonly HeldRow[]
  readonly lease: Lease
}

/** Outcomes to record together. */
export interface SettleRequest {
  readonly settlements: readonly Settlement[]
  /** Proves the owner's right to rows that it read without a claim. */
  readonly owner?: OwnerFence | undefined
}

/** A held row, and what became of its delivery. */
export interface Settlement {
  readonly row: HeldRow
  readonly outcome: Outcome
}

/**
 * The outcome of a delivery. The store adds a `failure` to the history of failed attempts.
 *
 * - `done`: DONE. `delete`: the row is removed. With `filtered`, a rule kept the event from its listener,
 *   which only statistics show.
 * - `retry`: RETRY, due again after `delayMs`, which is at most `maxDelayMs`.
 * - `defer`: NEW, due again after `delayMs`; `attempts` stays.
 * - `block`: stays pending but is not due until an operator decides.
 * - `dead`: DEAD.
 */
export type Outcome =
  | { readonly kind: 'done' | 'delete'; readonly failure?: Failure; readonly filtered?: true }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly failure: Failure }
  | { readonly kind: 'defer'; readonly delayMs: number; readonly reason?: string; readonly quiet?: boolean }
  | { readonly kind: 'block' | 'dead'; readonly failure: Failure }

/** Why a delivery failed. */
export interface Failure {
  /**
   * Begins with the class of the error. Stores cut it at `maxErrorLength` characters, as `storedErrorText`
   * does.
   */
  readonly error: string
  /** Whether the failure raises `attempts`. */
  readonly counted: boolean
}
