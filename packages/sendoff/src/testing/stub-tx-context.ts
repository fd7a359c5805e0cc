import { transactionEnded } from '../write/transaction-errors.ts'
import type { TxContext } from '../write/tx-context.ts'
import { expectationFailed } from './time-limit.ts'

/** A transaction for an `OutboxWriter` that the test ends. */
export class StubTxContext<StoreTx = unknown> implements TxContext<StoreTx> {
  /** False simulates that no transaction is open. */
  active = true
  readonly #tx: StoreTx
  #ended: 'committed' | 'rolled back' | undefined
  #afterCommit: (() => void)[] = []
  #afterRollback: (() => void)[] = []

  /** `tx` is what the store gets for its inserts. */
  constructor(tx: StoreTx) {
    this.#tx = tx
  }

  isTransactionActive(): boolean {
    return this.active
  }

  currentTransaction(): StoreTx {
    return this.#tx
  }

  afterCommit(callback: () => void): void {
    this.#requireOpen()
    this.#afterCommit.push(callback)
  }

  afterRollback(callback: () => void): void {
    this.#requireOpen()
    this.#afterRollback.push(callback)
  }

  /** Ends the transaction as a commit would. */
  runAfterCommit(): void {
    this.#end('committed', this.#afterCommit)
  }

  /** Ends the transaction as a rollback would. */
  runAfterRollback(): void {
    this.#end('rolled back', this.#afterRollback)
  }

  #end(how: 'committed' | 'rolled back', callbacks: readonly (() => void)[]): void {
    if (this.#ended !== undefined) {
      throw expectationFailed(
        `Expected an open transaction to be ${how}, but it has been ${this.#ended} already. Use a new StubTxContext for each.`,
      )
    }
    this.#ended = how
    this.active = false
    callbacks.forEach((callback) => callback())
  }

  #requireOpen(): void {
    if (this.#ended !== undefined) throw transactionEnded()
  }
}
