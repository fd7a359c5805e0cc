import { OutboxError } from '../../../errors.ts'
import type { InsertResult, Lease, NewRow } from '../../../store/index.ts'
import { duplicateEventId } from '../../../store/duplicate-event-id.ts'
import { Mutex } from '../../mutex.ts'
import { transactionEnded } from '../../transaction-ended.ts'
import type { Script } from '../scripts/script.ts'

/** Rows that a transaction adds, and the callback for their results. */
export interface RecordedInsert {
  readonly rows: readonly NewRow[]
  readonly lease: Lease | undefined
  readonly announce: boolean
  results: readonly KnownResult[] | undefined
}

/** A command that the code of the transaction has called. It is called again on the real MULTI. */
export interface RecordedCall {
  readonly method: string | symbol
  readonly values: readonly unknown[]
}

/** A script of the store that runs with the transaction. Its result is not read. */
export interface RecordedScript {
  readonly script: Script
  readonly values: readonly string[]
}

export type KnownResult = Exclude<InsertResult, { readonly kind: 'queued' }>

const transactionsOfViews = new WeakMap<object, RecordedTransaction>()

/** Returns the transaction that handed out `tx`, if one did. */
export function transactionOf(tx: object): RecordedTransaction | undefined {
  return transactionsOfViews.get(tx)
}

// Only the store, which owns the MULTI, may call these.
const endings = new Set<string | symbol>([
  'exec',
  'EXEC',
  'execTyped',
  'execBuffer',
  'execAsPipeline',
  'discard',
])

/**
 * A transaction, or a part of one that can be undone alone.
 *
 * Redis has no open transactions: a MULTI is sent as a whole. The view that code gets only records its calls.
 * The store makes them on a real MULTI at the end. So a part that fails is simply forgotten.
 */
export class RecordedTransaction {
  readonly inserts: RecordedInsert[] = []
  readonly scripts: RecordedScript[] = []
  readonly calls: RecordedCall[] = []
  readonly #shape: () => object
  readonly #around: RecordedTransaction | undefined
  readonly #rowIds = new Set<string>()
  readonly #nested = new Set<Promise<unknown>>()
  readonly #mutex = new Mutex()
  #hasEnded = false

  /** `shape` returns a MULTI of the client, which shows which commands exist. */
  constructor(shape: () => object, around?: RecordedTransaction) {
    this.#shape = shape
    this.#around = around
  }

  get isOpen(): boolean {
    return !this.#hasEnded && (this.#around?.isOpen ?? true)
  }

  assertOpen(): void {
    if (!this.isOpen) throw transactionEnded()
  }

  /** Records rows to add at the end. Their results are known only then. */
  record(insert: RecordedInsert): readonly InsertResult[] {
    this.assertOpen()
    const rowIds = new Set<string>()
    for (const row of insert.rows) {
      const id = `${row.eventId}\0${row.destination}`
      // With an idempotency key it may be a duplicate, which is not an error.
      if (row.idempotencyKey === null && (rowIds.has(id) || this.#has(id))) throw duplicateEventId(row)
      rowIds.add(id)
    }
    rowIds.forEach((id) => this.#rowIds.add(id))
    this.inserts.push(insert)
    return insert.rows.map((_, index) => ({ kind: 'queued', result: () => insert.results?.[index] }))
  }

  /** Records a script of the store to run at the end. */
  recordScript(script: RecordedScript): void {
    this.assertOpen()
    this.scripts.push(script)
  }

  /**
   * Runs `work` with a view. If it succeeds, its commands can be sent, or handed to the outer transaction.
   */
  async run<Result>(work: (tx: object) => Promise<Result>): Promise<Result> {
    const view = this.#view()
    transactionsOfViews.set(view, this)
    try {
      const result = await work(view)
      if (this.#nested.size > 0) throw nestedStillOpen()
      return result
    } finally {
      this.#hasEnded = true
      await Promise.allSettled(this.#nested)
    }
  }

  /**
   * Runs `work` as a part of this transaction. One part runs at a time, so that the order of commands is that
   * of the code.
   */
  async nested<Result>(work: (tx: object) => Promise<Result>): Promise<Result> {
    const running = this.#mutex.run(() => this.#part(work))
    this.#nested.add(running)
    try {
      return await running
    } finally {
      this.#nested.delete(running)
    }
  }

  async #part<Result>(work: (tx: object) => Promise<Result>): Promise<Result> {
    this.assertOpen()
    const part = new RecordedTransaction(this.#shape, this)
    const result = await part.run(work)
    this.assertOpen()
    this.inserts.push(...part.inserts)
    this.scripts.push(...part.scripts)
    this.calls.push(...part.calls)
    part.#rowIds.forEach((id) => this.#rowIds.add(id))
    return result
  }

  #has(rowId: string): boolean {
    return this.#rowIds.has(rowId) || (this.#around !== undefined && this.#around.#has(rowId))
  }

  #view(): object {
    const view: object = new Proxy(
      {},
      {
        get: (_, name) => {
          if (endings.has(name)) return refuseEnding
          const shape = this.#shape()
          const value: unknown = Reflect.get(shape, name)
          if (typeof value !== 'function') return value

          return (...values: unknown[]) => {
            this.assertOpen()
            this.calls.push({ method: name, values })
            return view
          }
        },
        has: (_, name) => Reflect.has(this.#shape(), name),
      },
    )
    return view
  }
}

function refuseEnding(): never {
  throw new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The outbox sends this MULTI itself, when the callback of the transaction returns. ' +
      'Throw from the callback to discard it, or write in a MULTI of your own: write(event, payload, { tx: multi }).',
  )
}

function nestedStillOpen(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'A nested transaction was still open when the callback of the transaction around it returned, ' +
      "and both were discarded. Await everything before the transaction's callback returns.",
  )
}
