import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import { NoticingPromise } from './noticing-promise.ts'
import { transactionEnded } from './transaction-errors.ts'
import type { TxContext } from './tx-context.ts'

/** Options of `TransactionScope`. */
export interface TransactionScopeOptions<UserTx, StoreTx> {
  readonly userTx: UserTx
  readonly storeTx: StoreTx
  readonly confirmsCommit: boolean
  readonly logger: Logger
  readonly parent: TransactionScope<UserTx, StoreTx> | undefined
  /** Whether other code opened the transaction, so that the outbox does not see its end. Default: false. */
  readonly isForeign?: boolean
}

/**
 * One open transaction, or one part of it that can be undone alone.
 *
 * If a part succeeds, its callbacks pass to the transaction around it. If it fails, its rollback callbacks
 * run at once. While a part is open, inserts into the transaction around it wait: the database would undo
 * them together with the part.
 */
export class TransactionScope<UserTx, StoreTx> implements TxContext<StoreTx> {
  readonly userTx: UserTx
  readonly confirmsCommit: boolean
  /** False in a transaction that other code opened, and in its parts. */
  readonly observable: boolean
  readonly #storeTx: StoreTx
  readonly #logger: Logger
  readonly #parent: TransactionScope<UserTx, StoreTx> | undefined
  #openPart: Promise<unknown> | undefined
  #active = true
  #hasReturned = false
  #isWorkDone = false
  #underWay = 0
  #onAllEnded: (() => void) | undefined
  #failures: Failure[] | undefined
  #afterCommit: (() => void)[] = []
  #afterRollback: (() => void)[] = []
  #afterDoubt: ((isOver?: boolean) => void)[] = []

  constructor(options: TransactionScopeOptions<UserTx, StoreTx>) {
    const { userTx, storeTx, confirmsCommit, logger, parent, isForeign = false } = options
    this.userTx = userTx
    this.confirmsCommit = confirmsCommit
    this.#storeTx = storeTx
    this.#logger = logger
    this.#parent = parent
    this.observable = !isForeign && (parent?.observable ?? true)
  }

  /** Whether the work in the transaction succeeded, so that only the commit can have failed. */
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

  afterDoubt(callback: (isOver?: boolean) => void): void {
    this.#requireActive()
    this.#afterDoubt.push(callback)
  }

  isWithin(other: TransactionScope<UserTx, StoreTx>): boolean {
    return this === other || (this.#parent?.isWithin(other) ?? false)
  }

  /** Whether this is the transaction with the handle `tx`, or a part of it. */
  isPartOf(tx: UserTx): boolean {
    return this.userTx === tx || (this.#parent?.isPartOf(tx) ?? false)
  }

  track<Result>(write: () => Promise<Result>): Promise<Result> {
    this.#underWay++
    const promise: NoticingPromise<Result> = new NoticingPromise<Result>((resolve, reject) => {
      write().then(
        (result) => {
          this.#ended()
          resolve(result)
        },
        (error: unknown) => {
          this.#failed(promise, error)
          reject(error)
        },
      )
    })
    return promise
  }

  #failed(promise: NoticingPromise<unknown>, error: unknown): void {
    promise.silence()
    this.#failures ??= []
    this.#failures.push({ promise, error, isLate: this.#hasReturned })
    this.#ended()
  }

  #ended(): void {
    this.#underWay--
    if (this.#underWay === 0) this.#onAllEnded?.()
  }

  openPart(): Promise<unknown> | undefined {
    if (this.#openPart === undefined) this.#requireActive()
    return this.#openPart
  }

  /** Runs a part of this transaction. Further parts and inserts wait for its end. */
  part<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.track(() => this.#partAlone(work))
  }

  /**
   * Awaits `work` and every write that it began, awaited or not, and then refuses further writes. A failed
   * write undoes the transaction if no code has seen the failure before `work` returns. Otherwise its event
   * would be missing, and the caller would not know.
   */
  async run<Result>(work: (tx: UserTx) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this.userTx)
      this.#hasReturned = true
      if (this.#underWay > 0) await this.#allEnded()
      const unheard = this.#failures?.find(({ promise, isLate }) => isLate || !promise.isHeard)
      if (unheard !== undefined) throw unheard.error
      this.#isWorkDone = true
      return result
    } finally {
      if (this.#underWay > 0) await this.#allEnded()
      this.#active = false
    }
  }

  /** Runs the callbacks after a commit. A part passes its callbacks to the transaction around it. */
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

  /** Runs the callbacks after a failed commit. The database may have committed all the same. */
  doubt(isOver: boolean): void {
    this.#callAll(this.#afterDoubt, isOver)
  }

  // The transaction has ended: an error of a callback cannot change that.
  #callAll(callbacks: readonly ((isOver?: boolean) => void)[], isOver?: boolean): void {
    for (const callback of callbacks) {
      try {
        callback(isOver)
      } catch (error) {
        this.#logger.error(`A callback after the end of a transaction failed. ${describeError(error)}`)
      }
    }
  }

  async #partAlone<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let other = this.openPart(); other !== undefined; other = this.openPart()) await other

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

  async #allEnded(): Promise<void> {
    while (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onAllEnded = resolve))
  }

  #requireActive(): void {
    if (!this.#active) throw transactionEnded()
  }
}

/** A write, or a part of the transaction, that has failed. */
interface Failure {
  readonly promise: NoticingPromise<unknown>
  readonly error: unknown
  /** Whether the failure came after the work had returned, and so too late for the work to see it. */
  readonly isLate: boolean
}
