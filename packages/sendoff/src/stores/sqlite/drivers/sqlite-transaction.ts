import { OutboxError } from '../../../errors.ts'
import type { RowId } from '../../../store/index.ts'
import { Mutex } from '../../mutex.ts'
import type { SqliteHandle } from './sqlite-client.ts'
import { hasOpenTransaction } from './sqlite-client.ts'
import { StatementPool } from './statement-pool.ts'
import { TransactionView } from './transaction-view.ts'

/** An open transaction, or a savepoint in one. Its code gets a view of the handle that ends with it. */
export class SqliteTransaction<Handle extends SqliteHandle = SqliteHandle> {
  readonly handle: Handle
  readonly #around: SqliteTransaction<Handle> | undefined
  readonly #pool: StatementPool
  readonly #depth: number
  #view: TransactionView<Handle> | undefined
  #nestedMutex: Mutex | undefined
  #firstRow: RowId | undefined
  #nestedCount = 0
  #hasEnded = false

  constructor(handle: Handle, pool = new StatementPool(handle), around?: SqliteTransaction<Handle>) {
    this.handle = handle
    this.#pool = pool
    this.#around = around
    this.#depth = around === undefined ? 0 : around.#depth + 1
  }

  /** Whether rows written now are kept whenever the whole transaction is. */
  get keepsRows(): boolean {
    return this.#around === undefined && this.#view?.mayHaveSavepoints === false
  }

  /** Records a row that exists as long as this transaction does. */
  wrote(row: RowId): void {
    if (this.keepsRows) this.#firstRow ??= row
  }

  /** Whether the open transaction is not the one that was begun. */
  wasReplaced(exists: (row: RowId) => boolean): boolean {
    if (this.#firstRow === undefined || this.#view?.mayHaveRolledBack === false) return false
    return !exists(this.#firstRow)
  }

  get isOpen(): boolean {
    return !this.#hasEnded && (this.#around?.isOpen ?? true)
  }

  assertOpen(): void {
    if (!this.isOpen) throw ended()
  }

  /** Runs `work` with a view, and ends the view in any case. */
  async run<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    this.#view = new TransactionView(this.handle, this, this.#pool)
    try {
      const result = await work(this.#view.view)
      if (this.#nestedCount > 0) throw nestedStillOpen()
      return result
    } finally {
      this.#hasEnded = true
      this.#view.end()
    }
  }

  /** Runs `work` within a savepoint. One at a time: savepoints are a stack. */
  async nested<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    this.#nestedMutex ??= new Mutex()
    this.#nestedCount += 1
    try {
      return await this.#nestedMutex.run(() => this.#inSavepoint(work))
    } finally {
      this.#nestedCount -= 1
    }
  }

  async #inSavepoint<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    this.assertOpen()
    // Without a transaction around it, SAVEPOINT would open one.
    if (!hasOpenTransaction(this.handle)) throw endedByHand()
    const savepoint = `sendoff_${this.#depth}`
    this.handle.exec(`savepoint ${savepoint}`)

    try {
      const result = await new SqliteTransaction(this.handle, this.#pool, this).run(work)
      this.assertOpen()
      this.#release(savepoint)
      return result
    } catch (error) {
      // After the end of the whole transaction, other transactions use the handle.
      if (this.isOpen) this.#undo(savepoint)
      throw error
    }
  }

  #release(savepoint: string): void {
    try {
      this.handle.exec(`release ${savepoint}`)
    } catch (cause) {
      throw endedByHand(cause)
    }
  }

  #undo(savepoint: string): void {
    try {
      this.handle.exec(`rollback to ${savepoint}; release ${savepoint}`)
    } catch {
      // The caller released the savepoint by hand. Its writes can no longer be distinguished from the others,
      // so all of them have to be undone. The commit then fails and says so.
      if (hasOpenTransaction(this.handle)) this.handle.exec('rollback')
    }
  }
}

/** The error for a transaction that had already ended when it was to be committed. */
export function endedByHand(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction was no longer open when its callback returned. Either the callback ran COMMIT, ROLLBACK or ' +
      'RELEASE itself, or SQLite rolled back after a failed statement. Throw from the callback to roll back, and ' +
      'leave the rest to transaction().',
    { cause },
  )
}

function ended(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'This transaction has ended, and its handle and statements with it. ' +
      "Await everything before the transaction's callback returns.",
  )
}

function nestedStillOpen(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'A nested transaction was still open when the callback of the transaction around it returned, ' +
      "and both were rolled back. Await everything before the transaction's callback returns.",
  )
}
