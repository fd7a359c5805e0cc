/** Options of a transaction that a store runs itself. */
export interface TransactionOptions {
  /** The isolation level: the database's default. Stores that run one transaction at a time ignore it. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
}

/**
 * A transaction that runs SQL, with the placeholders of its database. Its errors carry the database's error
 * code, on themselves or on one of their causes.
 */
export interface SqlTx {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
  /** Runs `work` in a savepoint. Leave it out if `query` can run the statements of savepoints. */
  inSavepoint?(work: () => Promise<void>): Promise<void>
}

/**
 * Runs transactions of the user's kind (`UserTx`), such as an ORM's. The store gets its own kind
 * (`StoreTx`) from them.
 */
export interface Transactions<UserTx, StoreTx, Options = TransactionOptions> {
  /**
   * True if a transaction resolves only after the database itself has confirmed its commit. Many drivers and
   * ORMs resolve even if the database rolled back after an error that was swallowed. Without this flag, the
   * outbox therefore reads events back from the database before it dispatches them.
   */
  readonly confirmsCommit?: boolean
  /**
   * Runs `work` in a transaction. With `within`, runs it as a part of that transaction, which can be undone
   * alone.
   */
  transaction<Result>(
    work: (tx: UserTx) => Promise<Result>,
    within?: UserTx,
    options?: Options,
  ): Promise<Result>
  storeTx(tx: UserTx): StoreTx
  /**
   * Returns the database's own error from an error that `transaction` rejected with. Leave it out if that
   * error, or one of its causes, is the database's own.
   */
  databaseError?(error: unknown): unknown
}
