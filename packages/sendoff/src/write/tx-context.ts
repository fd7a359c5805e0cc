/** The transaction that a write belongs to, as far as the writer needs to know it. */
export interface TxContext<StoreTx> {
  isTransactionActive(): boolean | Promise<boolean>

  /** The very transaction that the business data is written in. */
  currentTransaction(): StoreTx

  /** Calls back once the transaction has committed, and only then. */
  afterCommit(callback: () => void): void

  /** Calls back once the transaction has been rolled back. */
  afterRollback(callback: () => void): void

  /**
   * Calls back instead of both where the commit failed in a way that leaves its outcome open: with true where the transaction has
   * ended one way or the other, and without where its commit may still be under way.
   */
  afterDoubt?(callback: (isOver?: boolean) => void): void

  /** Keeps the transaction from ending before a write that began in it. */
  track?<Result>(write: () => Promise<Result>): Promise<Result>

  /** The end of an open part of the transaction. An insert waits for it: the part could undo the insert alone. */
  openPart?(): Promise<unknown> | undefined

  /** False where `afterCommit` is called although the database may have rolled back unnoticed. */
  readonly confirmsCommit?: boolean

  /** False for a transaction that other code opened and whose end cannot be seen. */
  readonly observable?: boolean
}
