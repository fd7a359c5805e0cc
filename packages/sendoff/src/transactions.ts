/** What can be asked of a transaction that a store runs itself. */
export interface TransactionOptions {
  /** The database's own default where left out. Stores that run one transaction at a time have no need of it. */
  readonly isolation?: 'read committed' | 'repeatable read' | 'serializable'
}

/**
 * A transaction in which SQL can be run, with placeholders as the database itself has them. What it
 * rejects with has the database's error code, there or in one of its causes.
 */
export interface SqlTx {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * A way to run transactions of the user's kind (`UserTx`), such as an ORM's, from which the
 * store can take its own (`StoreTx`).
 */
export interface Transactions<UserTx, StoreTx, Options = TransactionOptions> {
  /**
   * True where a transaction resolves only after the database itself has confirmed its commit. Many
   * drivers and ORMs resolve although the database rolled back after an error that was swallowed:
   * without this word events are dispatched only after the database was asked for them.
   */
  readonly confirmsCommit?: boolean
  /** With `within`, runs as a part of that transaction, which can be undone alone. */
  transaction<Result>(
    work: (tx: UserTx) => Promise<Result>,
    within?: UserTx,
    options?: Options,
  ): Promise<Result>
  storeTx(tx: UserTx): StoreTx
  /** The database's own error in one that `transaction` rejected with. Left out where that one, or one of its causes, is it. */
  databaseError?(error: unknown): unknown
}
