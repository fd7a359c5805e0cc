import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import type { Logger } from '../observe/logger.ts'
import type { RowKey } from '../store.ts'
import type { TxContext } from './tx-context.ts'

/**
 * One open transaction, or one part of it that can be undone alone.
 *
 * A part's callbacks and rows pass to the transaction around it when the part succeeds, and are
 * told of the rollback at once when it fails. While a part is open, inserts meant for the
 * transaction around it wait: the database would undo them together with the part.
 */
export class TransactionScope<UserTx, StoreTx> implements TxContext<StoreTx> {
  readonly userTx: UserTx
  readonly #storeTx: StoreTx
  readonly #logger: Logger
  readonly #parent: TransactionScope<UserTx, StoreTx> | undefined
  readonly #pending = new Set<Promise<unknown>>()
  #openPart: Promise<unknown> | undefined
  #active = true
  #rows: RowKey[] = []
  #vanished: ReadonlySet<string> = new Set()
  #afterCommit: (() => void)[] = []
  #afterRollback: (() => void)[] = []

  constructor(userTx: UserTx, storeTx: StoreTx, logger: Logger, parent?: TransactionScope<UserTx, StoreTx>) {
    this.userTx = userTx
    this.#storeTx = storeTx
    this.#logger = logger
    this.#parent = parent
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

  isWithin(other: TransactionScope<UserTx, StoreTx>): boolean {
    return this === other || (this.#parent?.isWithin(other) ?? false)
  }

  async track<Result>(write: () => Promise<Result>): Promise<Result> {
    const running = write()
    this.#pending.add(running)
    try {
      return await running
    } finally {
      this.#pending.delete(running)
    }
  }

  async perform<Result>(insert: (tx: StoreTx) => Promise<Result>): Promise<Result> {
    while (this.#openPart !== undefined) await this.#openPart
    this.#requireActive()
    return insert(this.#storeTx)
  }

  /** Runs a part of this transaction; further parts and inserts wait for its end. */
  part<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.track(() => this.#partAlone(work))
  }

  /** Remembers inserted rows, whose survival is asked for before the commit. */
  watch(rows: readonly RowKey[]): void {
    this.#rows.push(...rows)
  }

  get watched(): readonly RowKey[] {
    return this.#rows
  }

  survived(row: RowKey): boolean {
    return this.#parent?.survived(row) ?? !this.#vanished.has(rowName(row))
  }

  /**
   * Awaits `work` and every write begun by it, awaited or not, and then refuses further ones.
   * A write that is still under way when `work` returns and then fails undoes the transaction:
   * nobody awaited it, and its event would be missing without anyone knowing.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work()
      while (this.#pending.size > 0) await Promise.all(this.#pending)
      return result
    } finally {
      await Promise.allSettled(this.#pending)
      this.#active = false
    }
  }

  /** Notes which watched rows are still there, right before the commit. */
  confirm(surviving: readonly RowKey[]): void {
    const names = new Set(surviving.map(rowName))
    this.#vanished = new Set(this.#rows.map(rowName).filter((name) => !names.has(name)))
  }

  /** The transaction committed; a part hands everything on to the transaction around it. */
  succeed(): void {
    if (this.#parent === undefined) {
      this.#callAll(this.#afterCommit)
      return
    }
    this.#parent.#rows.push(...this.#rows)
    this.#parent.#afterCommit.push(...this.#afterCommit)
    this.#parent.#afterRollback.push(...this.#afterRollback)
  }

  fail(): void {
    this.#active = false
    this.#callAll(this.#afterRollback)
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

function rowName({ eventId, destination }: RowKey): string {
  return `${eventId}/${destination}`
}
