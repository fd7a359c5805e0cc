import { endedByHand } from '../../sql/sql-transaction.ts'
import { isDeadlock, rolledBack } from '../mysql-errors.ts'

// Statements that neither end a transaction nor set a savepoint.
const harmless = /^\s*(select|insert|update|delete|replace|with|values|show|explain|describe)\b/i
const endsTransaction =
  /^\s*(commit|begin(?!\s+not\b)|start\s+transaction|rollback(?!\s+(work\s+)?to\b)|(create|drop)\s+(table|index)|alter|truncate|rename)\b/i

/**
 * The state of a transaction, as far as the statements of its code show it.
 *
 * The server does not report it. After a deadlock it has undone everything, but accepts further statements
 * and keeps each by itself. The same happens after COMMIT, ROLLBACK and statements that change the schema.
 * Nor does the server say whether a savepoint is open.
 */
export class TransactionWatch {
  #openSavepoints = 0
  #isDoubtful = false
  #endedByHand = false
  #lastError: unknown
  #deadlock: unknown
  readonly #running = new Set<Promise<unknown>>()

  /** Whether rows written now are kept whenever the transaction is. */
  get keepsRows(): boolean {
    return this.#openSavepoints === 0 && !this.#isDoubtful
  }

  /** Whether only the server can say if the transaction is still open. */
  get isDoubtful(): boolean {
    return this.#isDoubtful || this.#lastError !== undefined
  }

  /** Throws if a statement would no longer be part of the transaction. */
  assertAlive(): void {
    if (this.#deadlock !== undefined) throw rolledBack(this.#deadlock)
    if (this.#endedByHand) throw endedByHand()
  }

  /**
   * Awaits a statement of the code, and records how it ends. Statements of the store have to wait meanwhile.
   * Otherwise they would run right after a deadlock, outside the transaction, and each would be kept by
   * itself.
   */
  async ran<Result>(statement: Promise<Result>): Promise<Result> {
    this.#running.add(statement)
    try {
      return await statement
    } catch (error) {
      this.sawError(error)
      throw error
    } finally {
      this.#running.delete(statement)
    }
  }

  get isBusy(): boolean {
    return this.#running.size > 0
  }

  /** Resolves when no statement of the code is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  /** Records that the code may have done something unseen. */
  lostSight(): void {
    this.#isDoubtful = true
  }

  saw(statement: unknown): void {
    const text = typeof statement === 'string' ? statement : (statement as { sql?: unknown } | undefined)?.sql
    if (typeof text !== 'string') return this.lostSight()

    if (endsTransaction.test(text)) this.#endedByHand = true
    // If a text has several statements, the first one says nothing about the others.
    else if (!harmless.test(text) || /;\s*\S/.test(text)) this.#isDoubtful = true
  }

  sawError(error: unknown): void {
    this.#lastError = error
    if (isDeadlock(error)) this.#deadlock = error
  }

  /** Records that the server has no open transaction any more. */
  ended(): Error {
    return this.#lastError === undefined ? endedByHand() : rolledBack(this.#lastError)
  }

  /** Records that the server could not undo a savepoint: its writes cannot be distinguished from the rest. */
  savepointLost(): void {
    this.#endedByHand = true
  }

  async inSavepoint<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#openSavepoints += 1
    try {
      return await work()
    } finally {
      this.#openSavepoints -= 1
    }
  }
}
