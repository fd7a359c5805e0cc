/**
 * A way to run transactions of the user's kind (`UserTx`), such as an ORM's, from which the
 * store can take its own (`StoreTx`).
 */
export interface Transactions<UserTx, StoreTx> {
  /** Resolves only when the commit is certain. With `within`, runs as a part of that transaction. */
  transaction<Result>(work: (tx: UserTx) => Promise<Result>, within?: UserTx): Promise<Result>
  storeTx(tx: UserTx): StoreTx
}
