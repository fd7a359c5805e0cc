/** The part of a transaction that the writer uses. */
export interface TxContext<StoreTx> {
  isTransactionActive(): boolean | Promise<boolean>

  /** Returns the transaction that the business data is written in. */
  currentTransaction(): StoreTx

  /** Calls back after the transaction has committed, and only then. */
  afterCommit(callback: () => void): void

  /** Calls back after the transaction was rolled back. */
  afterRollback(callback: () => void): void

  /**
   * Calls back instead of both if the commit failed and its outcome is not known. The callback gets true if
   * the transaction has ended one way or the other, and nothing if its commit may still be under way.
   */
  afterDoubt?(callback: (isOver?: boolean) => void): void

  /** Keeps the transaction from ending before a write that began in it has ended. */
  track?<Result>(write: () => Promise<Result>): Promise<Result>

  /**
   * Resolves at the end of an open part of the transaction. An insert waits for it: the part could undo the
   * insert alone.
   */
  openPart?(): Promise<unknown> | undefined

  /** False if `afterCommit` may be called although the database has rolled back. */
  readonly confirmsCommit?: boolean

  /** False for a transaction that other code opened, whose end the outbox does not see. */
  readonly observable?: boolean
}
