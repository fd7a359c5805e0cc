import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { TxContext } from './tx-context.ts'

export interface TransactionScopeOptions<UserTx, StoreTx> {
  readonly userTx: UserTx
  readonly storeTx: StoreTx
  readonly confirmsCommit: boolean
  readonly logger: Logger
  readonly parent: TransactionScope<UserTx, StoreTx> | undefined
}

/**
 * One open transaction, or one part of it that can be undone alone.
 *
 * A part's callbacks pass to the transaction around it when the part succeeds, and are told of the
 * rollback at once when it fails. While a part is open, inserts meant for the
 * transaction around it wait: the database would undo them together with the part.
 */
export class TransactionScope<UserTx, StoreTx> implements TxContext<StoreTx> {
  readonly userTx: UserTx
  readonly confirmsCommit: boolean
  readonly #storeTx: StoreTx
  readonly #logger: Logger
  readonly #parent: TransactionScope<UserTx, StoreTx> | undefined
  readonly #pending = new Set<Promise<unknown>>()
  #openPart: Promise<unknown> | undefined
  #active = true
  #isWorkDone = false
  #afterCommit: (() => void)[] = []
  #afterRollback: (() => void)[] = []
  #afterDoubt: (() => void)[] = []

  constructor({ userTx, storeTx, confirmsCommit, logger, parent }: TransactionScopeOptions<UserTx, StoreTx>) {
    this.userTx = userTx
    this.confirmsCommit = confirmsCommit
    this.#storeTx = storeTx
    this.#logger = logger
    this.#parent = parent
  }

  /** Whether the work in it has ended well, so that only the commit can have failed. */
  get isWorkDone(): boolean {
    return this.#isWorkDone
  }

  isTransactionActive(): boolean {
    return this.#active
  }

  currentTransaction(): StoreTx {
    return this.#storeTx
  }

  afterCommit(callback: () => void): void {
    this.#requireActive()
    this.#afterCommit.push(callback)
  }

  afterRollback(callback: () => void): void {
    this.#requireActive()
    this.#afterRollback.push(callback)
  }

  afterDoubt(callback: () => void): void {
    this.#requireActive()
    this.#afterDoubt.push(callback)
  }

  isWithin(other: TransactionScope<UserTx, StoreTx>): boolean {
    return this === other || (this.#parent?.isWithin(other) ?? false)
  }

  track<Result>(write: () => Promise<Result>): Promise<Result> {
    const running = write()
    this.#pending.add(running)
    // Not `running` itself: that counts as awaited now, so that nobody would be told of its failure.
    return running.then(
      (result) => {
        this.#pending.delete(running)
        return result
      },
      (error: unknown) => {
        this.#pending.delete(running)
        throw error
      },
    )
  }

  perform<Result>(insert: (tx: StoreTx) => Promise<Result>): Promise<Result> {
    if (this.#openPart !== undefined) return this.#openPart.then(() => this.perform(insert))
    this.#requireActive()
    return insert(this.#storeTx)
  }

  /** Runs a part of this transaction; further parts and inserts wait for its end. */
  part<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.track(() => this.#partAlone(work))
  }

  /**
   * Awaits `work` and every write begun by it, awaited or not, and then refuses further ones.
   * A write that is still under way when `work` returns and then fails undoes the transaction:
   * nobody awaited it, and its event would be missing without anyone knowing.
   */
  async run<Result>(work: (tx: UserTx) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this.userTx)
      while (this.#pending.size > 0) await Promise.all(this.#pending)
      this.#isWorkDone = true
      return result
    } finally {
      if (this.#pending.size > 0) await Promise.allSettled(this.#pending)
      this.#active = false
    }
  }

  /** The transaction committed; a part hands everything on to the transaction around it. */
  succeed(): void {
    if (this.#parent === undefined) {
      this.#callAll(this.#afterCommit)
      return
    }
    this.#parent.#afterCommit.push(...this.#afterCommit)
    this.#parent.#afterRollback.push(...this.#afterRollback)
    this.#parent.#afterDoubt.push(...this.#afterDoubt)
  }

  fail(): void {
    this.#active = false
    this.#callAll(this.#afterRollback)
  }

  /** Its commit failed. Whether the database has done it all the same is not known. */
  doubt(): void {
    this.#callAll(this.#afterDoubt)
  }

  // The transaction is over: what a callback throws cannot change that any more.
  #callAll(callbacks: readonly (() => void)[]): void {
    for (const callback of callbacks) {
      try {
        callback()
      } catch (error) {
        this.#logger.error(`A callback after the end of a transaction failed. ${describeError(error)}`)
      }
    }
  }

  async #partAlone<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#openPart !== undefined) await this.#openPart
    this.#requireActive()

    const running = work()
    this.#openPart = running.then(
      () => {},
      () => {},
    )
    try {
      return await running
    } finally {
      this.#openPart = undefined
    }
  }

  #requireActive(): void {
    if (!this.#active) throw transactionEnded()
  }
}

export function transactionEnded(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction of this write has ended. Await every write before the callback of the transaction returns.',
  )
}
