import { endedByHand } from '../../sql/sql-transaction.ts'
import { isDeadlock, rolledBack } from '../mysql-errors.ts'

// Statements that neither end a transaction nor set a savepoint.
const harmless = /^\s*(select|insert|update|delete|replace|with|values|show|explain|describe)\b/i
const endsTransaction =
  /^\s*(commit|begin(?!\s+not\b)|start\s+transaction|rollback(?!\s+(work\s+)?to\b)|(create|drop)\s+(table|index)|alter|truncate|rename)\b/i

/**
 * What is known of a transaction from what its code was seen to do.
 *
 * The server does not tell. After a deadlock it has undone everything, goes on as if nothing were, and
 * keeps each later statement for itself; so it does after COMMIT, ROLLBACK and statements that change the
 * schema; and it cannot be asked whether a savepoint is open.
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

  /** Whether the server has to be asked if the transaction is still open. */
  get isDoubtful(): boolean {
    return this.#isDoubtful || this.#lastError !== undefined
  }

  /** Throws where a statement would not be part of the transaction any more. */
  assertAlive(): void {
    if (this.#deadlock !== undefined) throw rolledBack(this.#deadlock)
    if (this.#endedByHand) throw endedByHand()
  }

  /**
   * Awaits a statement of the code, and sees how it ends. What the store sends meanwhile has to wait: it would run
   * right after a deadlock, and be kept by itself, before anyone could hold it back.
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

  /** The code did something unseen. */
  lostSight(): void {
    this.#isDoubtful = true
  }

  saw(statement: unknown): void {
    const text = typeof statement === 'string' ? statement : (statement as { sql?: unknown } | undefined)?.sql
    if (typeof text !== 'string') return this.lostSight()

    if (endsTransaction.test(text)) this.#endedByHand = true
    // With several statements in one, the first tells nothing of the others.
    else if (!harmless.test(text) || /;\s*\S/.test(text)) this.#isDoubtful = true
  }

  sawError(error: unknown): void {
    this.#lastError = error
    if (isDeadlock(error)) this.#deadlock = error
  }

  /** The server has been asked, and there is no transaction any more. */
  ended(): Error {
    return this.#lastError === undefined ? endedByHand() : rolledBack(this.#lastError)
  }

  /** A savepoint could not be undone: what was done in it cannot be told from the rest. */
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
