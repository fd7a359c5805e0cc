import { OutboxError } from '../../errors.ts'
import { Mutex } from '../mutex.ts'
import { transactionEnded } from '../transaction-ended.ts'
import type { MemoryRow } from './memory-row.ts'

/** Where rows and idempotency keys go at the end of a transaction: the store, or the outer transaction. */
export interface MemoryTables {
  findRow(id: string): MemoryRow | undefined
  findIdempotencyKey(key: string): KeyUse | undefined
  findMark(name: string): MemoryMark | undefined
  rowsOf(eventId: string): readonly MemoryRow[]
  keep(
    rows: ReadonlyMap<string, MemoryRow>,
    idempotencyKeys: ReadonlyMap<string, KeyUse>,
    afterCommit: readonly (() => void)[],
    marks: ReadonlyMap<string, MemoryMark>,
  ): void
}

/** Which event used an idempotency key, and when. */
export interface KeyUse {
  readonly eventId: string
  readonly createdAt: number
}

/** Which consumer has processed a message, and when. */
export interface MemoryMark {
  readonly consumer: string
  readonly receivedAt: number
}

/** An open transaction of a memory store. Callers pass it to `insert`. */
export class MemoryTx implements MemoryTables {
  readonly #around: MemoryTables
  readonly #rows = new Map<string, MemoryRow>()
  readonly #idempotencyKeys = new Map<string, KeyUse>()
  readonly #marks = new Map<string, MemoryMark>()
  readonly #afterCommit: (() => void)[] = []
  readonly #nestedMutex = new Mutex()
  #nestedCount = 0
  #hasEnded = false

  /** Only the store calls this. */
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

  findMark(name: string): MemoryMark | undefined {
    return this.#marks.get(name) ?? this.#around.findMark(name)
  }

  addMark(name: string, mark: MemoryMark): void {
    this.#marks.set(name, mark)
  }

  /** Returns the rows of an event, including those that this transaction adds. */
  rowsOf(eventId: string): readonly MemoryRow[] {
    const added = [...this.#rows.values()].filter((row) => row.eventId === eventId)
    return [...this.#around.rowsOf(eventId), ...added]
  }

  /** Runs `change` when the outermost transaction commits. */
  afterCommit(change: () => void): void {
    this.#afterCommit.push(change)
  }

  keep(
    rows: ReadonlyMap<string, MemoryRow>,
    idempotencyKeys: ReadonlyMap<string, KeyUse>,
    afterCommit: readonly (() => void)[] = [],
    marks?: ReadonlyMap<string, MemoryMark>,
  ): void {
    this.#afterCommit.push(...afterCommit)
    rows.forEach((row, id) => this.#rows.set(id, row))
    idempotencyKeys.forEach((use, key) => this.#idempotencyKeys.set(key, use))
    marks?.forEach((mark, name) => this.#marks.set(name, mark))
  }

  /** Runs `work`. Unless it fails, hands all rows and keys over to the outer tables. */
  async run<Result>(work: (tx: MemoryTx) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this)
      this.assertOpen()
      if (this.#nestedCount > 0) throw nestedStillOpen()
      this.#around.keep(this.#rows, this.#idempotencyKeys, this.#afterCommit, this.#marks)
      return result
    } finally {
      this.#hasEnded = true
    }
  }

  /** Runs `work` in a transaction within this one. Such transactions run one at a time, as in a database. */
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
