import type { TransactionOptions } from '../transactions.ts'
import type { Lease } from './leases.ts'
import type { EventRow } from './rows.ts'

/** For writers: transactions, and the rows that they add in them. */
export interface OutboxWriting<Tx> {
  /**
   * Runs `work` in one transaction: all of its writes are kept, or none. Resolves only when the database has
   * confirmed the commit. With `within`, the new transaction is part of that one. It can be undone alone, but
   * is kept only if the outer one is.
   */
  transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: StoreTransactionOptions<Tx>,
  ): Promise<Result>

  /**
   * Whether the error proves that the database rolled the transaction back instead of committing it. Returns
   * false for a lost connection, and for every other error that leaves the end of a transaction open. Left
   * out if no error can prove it.
   */
  refusedCommit?(error: unknown): boolean

  /**
   * Whether the error says that the database undid the transaction because of another one: a deadlock, or a
   * conflict of isolated transactions. The same work can succeed if all of it is repeated. Left out if the
   * database has no such errors.
   */
  isConflict?(error: unknown): boolean

  /** Whether `tx` is the handle of an open transaction, which an insert would be part of. */
  inTransaction(tx: Tx): boolean | Promise<boolean>

  /**
   * Adds rows within the caller's transaction, in the given order. No other transaction sees them before it
   * commits. Rows with `claimed` are born with `lease`, and with the fence 1.
   *
   * A row whose idempotency key was used before is not added, and the result names the event that used the
   * key. If an event id exists, nothing is added: the insert rejects with `duplicateEventId`, and the
   * transaction stays usable. If rows are `queued`, the store refuses the whole commit instead.
   */
  insert(request: InsertRequest<Tx>): Promise<readonly InsertResult[]>
}

/** Options of a store's transaction. */
export interface StoreTransactionOptions<Tx> extends TransactionOptions {
  /** The transaction that the new one is part of. */
  readonly within?: Tx | undefined
}

/** Rows to add, and the transaction to add them in. */
export interface InsertRequest<Tx> {
  readonly tx: Tx
  readonly rows: readonly NewRow[]
  /** The lease of the rows with `claimed`; may be left out if there are none. */
  readonly lease?: Lease | undefined
  /**
   * Makes a store with wake-ups signal to other processes when the transaction commits, even if rows fall due
   * later. Default: false.
   */
  readonly announce?: boolean
  /**
   * Makes the commit signal that rows of any partition may be due now, whatever rows it adds. A store may
   * leave it out: the caller sends this signal by itself, too, as soon as it gets a connection. Default:
   * false.
   */
  readonly carriesSignal?: boolean
}

/** A row to add. */
export interface NewRow extends EventRow {
  /**
   * When the row falls due: at a given time, or this many milliseconds from now by the database's clock. At
   * most `maxDelayMs` ahead.
   */
  readonly due: { readonly at: number } | { readonly inMs: number }
  readonly idempotencyKey: string | null
  readonly claimed: boolean
  /**
   * Whether the id was made for this very row, so that no other row can have it. The store then need not
   * search for such a row. Default: false.
   */
  readonly hasNewId?: boolean
}

/**
 * The result of inserting a row: `queued` if the database reports it only after the transaction has ended.
 */
export type InsertResult = InsertedRow | DuplicateRow | QueuedRow

/** A row that is in the table, if its transaction commits. */
export interface InsertedRow {
  readonly kind: 'inserted'
  readonly seq: number
  readonly deliveries: number
  /**
   * Whether the row is kept whenever its transaction is. False within a savepoint, which the caller may undo
   * without the store noticing.
   */
  readonly certain: boolean
}

/** A row that was not added, because the named event used its idempotency key before. */
export interface DuplicateRow {
  readonly kind: 'duplicate'
  readonly eventId: string
}

/** A row whose result the database reports only after the commit. */
export interface QueuedRow {
  readonly kind: 'queued'
  /**
   * Returns the result once the transaction has committed. Returns undefined before that, and if the store
   * did not see the commit.
   */
  result(): InsertedRow | DuplicateRow | undefined
}
