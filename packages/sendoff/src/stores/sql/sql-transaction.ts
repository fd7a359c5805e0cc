import { OutboxError } from '../../errors.ts'
import { Mutex } from '../mutex.ts'
import { type ViewOwner, viewOwnerOf } from './ending-view.ts'

/** How one driver makes savepoints, and the view of the handle that callers get. */
export interface TransactionParts<Handle extends object> {
  /**
   * Runs `work` within a savepoint of `handle`, and undoes what it did if it fails. `work` gets the handle to
   * use inside; some drivers have another one there.
   */
  savepoint<Result>(handle: Handle, name: string, work: (inner: Handle) => Promise<Result>): Promise<Result>

  /** Returns the handle as callers may use it, until its owner's `assertOpen` throws. */
  view(handle: Handle, owner: ViewOwner): Handle
}

/** Returns the transaction that handed out `tx`, if one did. */
export function transactionOf<Handle extends object>(tx: Handle): SqlTransaction<Handle> | undefined {
  const owner = viewOwnerOf(tx)
  return owner instanceof SqlTransaction ? (owner as SqlTransaction<Handle>) : undefined
}

const foreignTransactions = new WeakMap<object, SqlTransaction>()

/** Returns the transaction that `tx` stands for: one of the store, or one that the caller opened. */
export function transactionAround<Handle extends object>(
  tx: Handle,
  parts: TransactionParts<Handle>,
): SqlTransaction<Handle> {
  const known = transactionOf(tx) ?? (foreignTransactions.get(tx) as SqlTransaction<Handle> | undefined)
  if (known !== undefined) return known

  const foreign = new SqlTransaction(tx, parts)
  foreignTransactions.set(tx, foreign)
  return foreign
}

/**
 * An open transaction, or a savepoint in one.
 *
 * Callers get a view of the handle that ends with the transaction. Otherwise a statement that was not awaited
 * would run late, in the transaction that has the connection by then.
 */
export class SqlTransaction<Handle extends object = object> implements ViewOwner {
  readonly handle: Handle
  readonly #parts: TransactionParts<Handle>
  readonly #around: SqlTransaction<Handle> | undefined
  readonly #depth: number
  #nested: Set<Promise<unknown>> | undefined
  #nestedMutex: Mutex | undefined
  #hasEnded = false

  constructor(handle: Handle, parts: TransactionParts<Handle>, around?: SqlTransaction<Handle>) {
    this.handle = handle
    this.#parts = parts
    this.#around = around
    this.#depth = around === undefined ? 0 : around.#depth + 1
  }

  get isOpen(): boolean {
    return !this.#hasEnded && (this.#around?.isOpen ?? true)
  }

  assertOpen(): void {
    if (!this.isOpen) throw ended()
  }

  /**
   * Runs `work` with a view, and ends the view in any case. Waits for nested transactions that the work left
   * open, and refuses all their calls. Otherwise these calls would later run in the connection's next
   * transaction.
   */
  async run<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this.#parts.view(this.handle, this))
      if (this.#nested !== undefined && this.#nested.size > 0) throw nestedStillOpen()
      return result
    } finally {
      this.#hasEnded = true
      if (this.#nested !== undefined) await Promise.allSettled(this.#nested)
    }
  }

  /** Runs `work` within a savepoint. One at a time: savepoints are a stack. */
  async nested<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    const nested = (this.#nested ??= new Set())
    this.#nestedMutex ??= new Mutex()
    const running = this.#nestedMutex.run(() => this.#inSavepoint(work))
    nested.add(running)
    try {
      return await running
    } finally {
      nested.delete(running)
    }
  }

  async #inSavepoint<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    this.assertOpen()
    return this.#parts.savepoint(this.handle, `sendoff_${this.#depth}`, async (inner) => {
      const result = await new SqlTransaction(inner, this.#parts, this).run(work)
      this.assertOpen()
      return result
    })
  }
}

/** The error for a transaction that had already ended when it was to be committed. */
export function endedByHand(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction was no longer open when its callback returned: the callback ran COMMIT, ROLLBACK or RELEASE ' +
      'itself. Throw from the callback to roll back, and leave the rest to transaction().',
    { cause },
  )
}

function ended(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    "This transaction has ended, and its handle with it. Await everything before the transaction's callback returns.",
  )
}

function nestedStillOpen(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'A nested transaction was still open when the callback of the transaction around it returned, ' +
      "and both were rolled back. Await everything before the transaction's callback returns.",
  )
}
