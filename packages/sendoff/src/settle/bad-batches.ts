import { BackOff, type BackOffOptions } from '../store-calls/store-recovery.ts'
import type { BatchWriter } from './batch-writer.ts'
import { batchName, failureMessage, halvesOf, type OutcomeBatch, unwritten } from './outcome-batch.ts'
import type { WritePauses } from './write-pauses.ts'

/**
 * One outcome that cannot be written makes nine batches in a row fail before it is alone. This limit adds
 * half as many again.
 */
const failuresBeforeOutage = 14

/** Options of `BadBatches`. */
export interface BadBatchesOptions {
  readonly writer: BatchWriter
  readonly pauses: WritePauses
  readonly backOff: BackOffOptions
  /** Called with batches if none can be written any more: the fault is the store's. */
  readonly onOutage: (batches: readonly OutcomeBatch[]) => void
  /** Called after batches were written. */
  readonly onWritten: () => void
}

/**
 * Writes batches that fail although the store writes others. It writes them in halves, until the outcome that
 * cannot be written is alone. Then it repeats that outcome alone, so that it holds up no other.
 */
export class BadBatches {
  readonly #options: BadBatchesOptions
  #batches: OutcomeBatch[] = []
  #isWriting = false

  constructor(options: BadBatchesOptions) {
    this.#options = options
  }

  /** Finds the outcome that cannot be written in a failed batch. */
  isolate(batch: OutcomeBatch, error: unknown): void {
    if (batch.items.length === 1) return void this.repeatAlone(batch, error)
    this.#batches.push(...halvesOf(batch.items))
    if (!this.#isWriting) void this.#writeAll()
  }

  /** Repeats a batch until it is written. Never rejects. */
  async repeatAlone(alone: OutcomeBatch, failure: unknown): Promise<void> {
    const { writer, pauses, onWritten } = this.#options
    const backOff = new BackOff({ ...this.#options.backOff, what: `Settling ${batchName(alone)}` })
    let error = failure
    while (unwritten(alone).length > 0) {
      backOff.failed(failureMessage(alone, error))
      if (pauses.isStopped) return
      await pauses.pause(backOff)
      if (pauses.isStopped) return
      try {
        await writer.write(alone)
        backOff.succeeded()
        break
      } catch (again) {
        error = again
      }
    }
    onWritten()
  }

  // Never rejects.
  async #writeAll(): Promise<void> {
    this.#isWriting = true
    let failures = 0
    while (this.#batches.length > 0 && !this.#options.pauses.isStopped) {
      failures = (await this.#writeNext()) ? 0 : failures + 1
      if (failures >= failuresBeforeOutage) this.#options.onOutage(this.#batches.splice(0))
    }
    this.#isWriting = false
    this.#options.onWritten()
  }

  async #writeNext(): Promise<boolean> {
    const batch = this.#batches.shift()!
    try {
      await this.#options.writer.write(batch)
      return true
    } catch (error) {
      const items = unwritten(batch)
      if (items.length > 1) this.#batches.unshift(...halvesOf(items))
      else void this.repeatAlone({ items }, error)
      return false
    }
  }
}
