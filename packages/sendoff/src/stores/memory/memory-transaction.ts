import { OutboxError } from '../../errors.ts'
import { Mutex } from '../mutex.ts'
import { transactionEnded } from '../transaction-ended.ts'
import type { MemoryRow } from './memory-row.ts'

/** Where rows and idempotency keys come to rest: the store itself, or the transaction around. */
export interface MemoryTables {
  findRow(id: string): MemoryRow | undefined
  findIdempotencyKey(key: string): KeyUse | undefined
  keep(rows: ReadonlyMap<string, MemoryRow>, idempotencyKeys: ReadonlyMap<string, KeyUse>): void
}

/** Which event used an idempotency key, and when. */
export interface KeyUse {
  readonly eventId: string
  readonly createdAt: number
}

/** An open transaction of a memory store, to be handed to `insert`. */
export class MemoryTx implements MemoryTables {
  readonly #around: MemoryTables
  readonly #rows = new Map<string, MemoryRow>()
  readonly #idempotencyKeys = new Map<string, KeyUse>()
  readonly #nestedMutex = new Mutex()
  #nestedCount = 0
  #hasEnded = false

  /** Made by the store only. */
  constructor(around: MemoryTables) {
    this.#around = around
  }

  get isOpen(): boolean {
    return !this.#hasEnded && (!(this.#around instanceof MemoryTx) || this.#around.isOpen)
  }

  assertOpen(): void {
    if (!this.isOpen) throw transactionEnded()
  }

  findRow(id: string): MemoryRow | undefined {
    return this.#rows.get(id) ?? this.#around.findRow(id)
  }

  findIdempotencyKey(key: string): KeyUse | undefined {
    return this.#idempotencyKeys.get(key) ?? this.#around.findIdempotencyKey(key)
  }

  keep(rows: ReadonlyMap<string, MemoryRow>, idempotencyKeys: ReadonlyMap<string, KeyUse>): void {
    rows.forEach((row, id) => this.#rows.set(id, row))
    idempotencyKeys.forEach((use, key) => this.#idempotencyKeys.set(key, use))
  }

  /** Runs `work` and hands everything on to the tables around it, unless it fails. */
  async run<Result>(work: (tx: MemoryTx) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this)
      this.assertOpen()
      if (this.#nestedCount > 0) throw nestedStillOpen()
      this.#around.keep(this.#rows, this.#idempotencyKeys)
      return result
    } finally {
      this.#hasEnded = true
    }
  }

  /** Runs `work` in a transaction within this one. One at a time, as in a database. */
  async nested<Result>(work: (tx: MemoryTx) => Promise<Result>): Promise<Result> {
    this.#nestedCount += 1
    try {
      return await this.#nestedMutex.run(() => {
        this.assertOpen()
        return new MemoryTx(this).run(work)
      })
    } finally {
      this.#nestedCount -= 1
    }
  }
}

function nestedStillOpen(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'A nested transaction was still open when the callback of the transaction around it returned, ' +
      "and both were rolled back. Await everything before the transaction's callback returns.",
  )
}
