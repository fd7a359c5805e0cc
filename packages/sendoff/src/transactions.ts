/**
 * A way to run transactions of the user's kind (`UserTx`), such as an ORM's, from which the
 * store can take its own (`StoreTx`).
 */
export interface Transactions<UserTx, StoreTx> {
  /**
   * True where a transaction resolves only after the database itself has confirmed its commit. Many
   * drivers and ORMs resolve although the database rolled back after an error that was swallowed:
   * without this word events are dispatched only after the database was asked for them.
   */
  readonly confirmsCommit?: boolean
  /** With `within`, runs as a part of that transaction, which can be undone alone. */
  transaction<Result>(work: (tx: UserTx) => Promise<Result>, within?: UserTx): Promise<Result>
  storeTx(tx: UserTx): StoreTx
}
