import type { RowKey } from '../store.ts'

/** The transaction that a write belongs to, as far as the writer needs to know it. */
export interface TxContext<StoreTx> {
  isTransactionActive(): boolean | Promise<boolean>

  /** The very transaction that the business data is written in. */
  currentTransaction(): StoreTx

  /** Calls back once the transaction has committed, and only then. */
  afterCommit(callback: () => void): void

  /** Calls back once the transaction has been rolled back. */
  afterRollback(callback: () => void): void

  /** Keeps the transaction from ending before a write that began in it. */
  track?<Result>(write: () => Promise<Result>): Promise<Result>

  /** Runs an insert when nothing else is under way that could undo it alone. */
  perform?<Result>(insert: (tx: StoreTx) => Promise<Result>): Promise<Result>

  /**
   * Whether a row inserted in the transaction was committed with it, as seen right before the
   * commit. Left out where a committed transaction keeps all of its rows.
   */
  survived?(row: RowKey): boolean

  /** False for a transaction that somebody else opened and whose end cannot be seen. */
  readonly observable?: boolean
}
