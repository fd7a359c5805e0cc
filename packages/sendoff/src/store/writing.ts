import type { TransactionOptions } from '../transactions.ts'
import type { Lease } from './leases.ts'
import type { EventRow } from './rows.ts'

/** For writers: transactions, and the rows that they add in them. */
export interface OutboxWriting<Tx> {
  /**
   * Runs `work` in one transaction: all of its writes are kept, or none. Resolves only when
   * the database has confirmed the commit. With `within`, the new transaction is part of that
   * one and can be undone alone, but is kept only if the outer one is.
   */
  transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: StoreTransactionOptions<Tx>,
  ): Promise<Result>

  /**
   * Whether an error is the database's own word that it has undone a transaction instead of committing it. False for a lost
   * connection, and for every other error that leaves the end of a transaction open. Left out where no error says so.
   */
  refusedCommit?(error: unknown): boolean

  /** Whether `tx` is a handle with an open transaction, so that an insert would be part of it. */
  inTransaction(tx: Tx): boolean | Promise<boolean>

  /**
   * Adds rows within the caller's transaction, in the given order. No other transaction sees them before it
   * commits. Rows with `claimed` are born with `lease`. A row whose idempotency key was used
   * before is not added, and the result names the event that used it. Where an event id exists, nothing is added: the insert rejects
   * with `duplicateEventId`, and the transaction stays usable. Where rows are `queued`, the commit is refused as a whole.
   */
  insert(request: InsertRequest<Tx>): Promise<readonly InsertResult[]>
}

/** What can be asked of a transaction of a store. */
export interface StoreTransactionOptions<Tx> extends TransactionOptions {
  /** The transaction that the new one is part of. */
  readonly within?: Tx | undefined
}

/** Rows to add, and the transaction to add them in. */
export interface InsertRequest<Tx> {
  readonly tx: Tx
  readonly rows: readonly NewRow[]
  /** The lease of rows that are `claimed`; may be left out where none is. */
  readonly lease?: Lease | undefined
  /** Has a store that can signal to other processes when the transaction commits, also where rows fall due later. */
  readonly announce?: boolean
}

/** A row to add. */
export interface NewRow extends EventRow {
  /** Due at a given time, or so many milliseconds from now by the database's clock: at most `maxDelayMs` ahead. */
  readonly due: { readonly at: number } | { readonly inMs: number }
  readonly idempotencyKey: string | null
  readonly claimed: boolean
  /** Whether the id was made for this very row, so that no other can have it: the store need not look for one. */
  readonly hasNewId?: boolean
}

/** What became of a row; where the database tells only when the transaction has ended, `queued`. */
export type InsertResult = InsertedRow | DuplicateRow | QueuedRow

/** A row that is in the table, if its transaction commits. */
export interface InsertedRow {
  readonly kind: 'inserted'
  readonly seq: number
  readonly deliveries: number
  /**
   * Whether the row is kept whenever its transaction is. False within a savepoint, which may be
   * undone alone and unseen.
   */
  readonly certain: boolean
}

/** A row that was not added, since the named event used its idempotency key before. */
export interface DuplicateRow {
  readonly kind: 'duplicate'
  readonly eventId: string
}

/** A row of which the database tells only after the commit what became of it. */
export interface QueuedRow {
  readonly kind: 'queued'
  /** What became of it, once its transaction has committed; undefined before, and where the store did not see the commit. */
  result(): InsertedRow | DuplicateRow | undefined
}
