import { AsyncLocalStorage } from 'node:async_hooks'
import { type Logger, standardLogger } from '../observe/logger.ts'
import type { OutboxStore } from '../store/index.ts'
import type { TransactionOptions, Transactions } from '../transactions.ts'
import { foreignTransaction } from './foreign-transaction.ts'
import { transactionEndOf } from './transaction-end.ts'
import { noTransaction } from './transaction-errors.ts'
import { TransactionScope } from './transaction-scope.ts'
import type { TxContext } from './tx-context.ts'

/** Options of `AmbientTransactions`. */
export interface AmbientTransactionsOptions<UserTx, StoreTx, TxOptions = TransactionOptions> {
  /** The store that holds the events. */
  readonly store: OutboxStore<StoreTx>
  /** Runs the transactions of an ORM or a driver. Default: the store's own. */
  readonly transactions?: Transactions<UserTx, StoreTx, TxOptions> | undefined
  /** Receives faults. Default: standard error. */
  readonly logger?: Logger
}

/**
 * Runs transactions, and finds the one that the running code is part of, across awaits.
 *
 * A transaction within a transaction is a part of it. Each instance has its own ambient transaction, so that
 * two outboxes on two databases do not mix.
 */
export class AmbientTransactions<
  UserTx,
  StoreTx = UserTx,
  TxOptions = TransactionOptions,
> implements TxContext<StoreTx> {
  readonly #transactions: Transactions<UserTx, StoreTx, TxOptions>
  readonly #store: OutboxStore<StoreTx>
  readonly #logger: Logger
  readonly #ambient = new AsyncLocalStorage<TransactionScope<UserTx, StoreTx>>()
  // The open transactions, each followed by its parts. A list will do: there are about as many as
  // connections.
  readonly #scopes: TransactionScope<UserTx, StoreTx>[] = []
  // Of each transaction that other code opened, what the store knows it by: writes side by side share it.
  readonly #foreign = new WeakMap<object, StoreTx>()
  // The end of the last part of each transaction that other code opened.
  readonly #foreignParts = new WeakMap<object, Promise<void>>()
  readonly #onEnded: (() => void)[] = []
  #open = 0

  constructor({
    store,
    transactions,
    logger = standardLogger,
  }: AmbientTransactionsOptions<UserTx, StoreTx, TxOptions>) {
    this.#transactions = transactions ?? ownTransactions(store)
    this.#store = store
    this.#logger = logger
  }

  /** How many outermost transactions are open. */
  get openCount(): number {
    return this.#open
  }

  /** Resolves when no transaction is open any more. */
  async ended(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => this.#onEnded.push(resolve))
  }

  transaction<Result>(work: (tx: UserTx) => Promise<Result>, options?: TxOptions): Promise<Result> {
    const outer = this.#ambient.getStore()
    // Code that outlives its transaction may begin a new one.
    return outer?.isTransactionActive()
      ? outer.part(() => this.#run(work, options, outer))
      : this.#run(work, options)
  }

  /**
   * Runs `work` as a part of a transaction that the caller names: one of this outbox, or one that other code
   * opened. The part is the ambient transaction of `work`.
   */
  within<Result>(tx: UserTx & object, work: (tx: UserTx) => Promise<Result>): Promise<Result> {
    const ambient = this.#ambient.getStore()
    const context = ambient?.isTransactionActive() && ambient.isPartOf(tx) ? ambient : this.contextOf(tx)
    if (context instanceof TransactionScope) return context.part(() => this.#run(work, undefined, context))
    return this.#foreignPart(tx, work)
  }

  /** Returns the database's own error from one that a transaction rejected with. */
  databaseError(error: unknown): unknown {
    return this.#transactions.databaseError?.(error) ?? error
  }

  /**
   * Returns the context of a transaction that the caller names: one of this outbox, or one that other code
   * opened.
   */
  contextOf(tx: UserTx): TxContext<StoreTx> {
    // We want the innermost scope: a part may have the handle of the transaction around it.
    const scope = this.#scopes.findLast(({ userTx }) => userTx === tx)
    if (scope === undefined)
      return foreignTransaction(this.#store, this.#foreignStoreTx(tx as UserTx & object))

    // A caller that names the outer transaction inside an open part means the part: the connection is the
    // same.
    const ambient = this.#ambient.getStore()
    return ambient?.isTransactionActive() && ambient.isWithin(scope) ? ambient : scope
  }

  isTransactionActive(): boolean {
    return this.#ambient.getStore()?.isTransactionActive() ?? false
  }

  /** The transaction that the running code is part of, or was part of until it ended. */
  current(): TransactionScope<UserTx, StoreTx> | undefined {
    return this.#ambient.getStore()
  }

  currentTransaction(): StoreTx {
    return this.#require().currentTransaction()
  }

  afterCommit(callback: () => void): void {
    this.#require().afterCommit(callback)
  }

  afterRollback(callback: () => void): void {
    this.#require().afterRollback(callback)
  }

  async #run<Result>(
    work: (tx: UserTx) => Promise<Result>,
    options: TxOptions | undefined,
    outer?: TransactionScope<UserTx, StoreTx>,
  ): Promise<Result> {
    let scope: TransactionScope<UserTx, StoreTx> | undefined
    if (outer === undefined) this.#open++
    try {
      const running = (tx: UserTx) => {
        // The transaction runs again, as after a conflict. The database has rolled back the first run.
        if (scope !== undefined) this.#undone(scope)
        scope = this.#begin(tx, outer)
        return this.#ambient.run(scope, runIn, scope, work)
      }
      const result = await this.#transactions.transaction(running, outer?.userTx, options)
      scope!.succeed()
      return result
    } catch (error) {
      const end =
        scope?.isWorkDone && outer === undefined
          ? transactionEndOf(error, this.#transactions, this.#store)
          : 'undone'
      if (end === 'undone') scope?.fail()
      else scope?.doubt(end === 'over')
      throw error
    } finally {
      this.#end(scope, outer)
    }
  }

  #foreignStoreTx(tx: UserTx & object): StoreTx {
    const storeTx = this.#transactions.storeTx(tx)
    const known = this.#foreign.get(tx) ?? storeTx
    this.#foreign.set(tx, known)
    return known
  }

  // The parts of one transaction run one after another.
  #foreignPart<Result>(tx: UserTx & object, work: (tx: UserTx) => Promise<Result>): Promise<Result> {
    const outer = new TransactionScope<UserTx, StoreTx>({
      userTx: tx,
      storeTx: this.#transactions.storeTx(tx),
      confirmsCommit: false,
      logger: this.#logger,
      parent: undefined,
      isForeign: true,
    })
    const last = this.#foreignParts.get(tx)
    const run = () => this.#run(work, undefined, outer)
    const running = last === undefined ? run() : last.then(run)
    const ended = running.then(
      () => {},
      () => {},
    )
    this.#foreignParts.set(tx, ended)
    return running
  }

  #undone(scope: TransactionScope<UserTx, StoreTx>): void {
    this.#scopes.splice(this.#scopes.indexOf(scope), 1)
    scope.fail()
  }

  #begin(
    tx: UserTx,
    outer: TransactionScope<UserTx, StoreTx> | undefined,
  ): TransactionScope<UserTx, StoreTx> {
    const scope = new TransactionScope({
      userTx: tx,
      storeTx: this.#transactions.storeTx(tx),
      confirmsCommit: this.#transactions.confirmsCommit ?? false,
      logger: this.#logger,
      parent: outer,
    })
    this.#scopes.push(scope)
    return scope
  }

  #end(
    scope: TransactionScope<UserTx, StoreTx> | undefined,
    outer: TransactionScope<UserTx, StoreTx> | undefined,
  ): void {
    if (scope !== undefined) this.#scopes.splice(this.#scopes.indexOf(scope), 1)
    if (outer !== undefined) return

    this.#open--
    if (this.#open === 0 && this.#onEnded.length > 0) this.#onEnded.splice(0).forEach((resolve) => resolve())
  }

  #require(): TransactionScope<UserTx, StoreTx> {
    const scope = this.#ambient.getStore()
    if (scope === undefined) throw noTransaction()
    return scope
  }
}

function runIn<UserTx, StoreTx, Result>(
  scope: TransactionScope<UserTx, StoreTx>,
  work: (tx: UserTx) => Promise<Result>,
): Promise<Result> {
  return scope.run(work)
}

// Without the option `transactions`, the user's transactions are the store's own.
function ownTransactions<UserTx, StoreTx, TxOptions>(
  store: OutboxStore<StoreTx>,
): Transactions<UserTx, StoreTx, TxOptions> {
  const own: Transactions<StoreTx, StoreTx> = {
    confirmsCommit: true,
    transaction: (work, within, options) =>
      store.transaction(work, within === undefined ? options : { ...options, within }),
    storeTx: (tx) => tx,
  }
  return own as unknown as Transactions<UserTx, StoreTx, TxOptions>
}
