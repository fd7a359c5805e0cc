import type { Delivery } from '../delivery/delivery.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import { spanFrom, type TracedSpan, type Tracer } from '../observe/tick-span.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

/** Options of `SingleWriterSource`. */
export interface SingleWriterSourceOptions {
  /** The source that reads under the lock. It takes the lock itself. */
  readonly source: PendingSource
  readonly lock: NamedLock
  readonly logger: Logger
  readonly tracer: Tracer | undefined
  /** Resolves when all of these deliveries are settled or were handed back. */
  readonly untilSettled: (deliveries: readonly Delivery[]) => Promise<void>
}

interface Tick {
  readonly span: TracedSpan | undefined
  /**
   * The deliveries that were not settled at the last read. A tick may take a long time, and must not remember
   * all its deliveries.
   */
  unsettled: readonly Delivery[]
  settledCount: number
  succeededCount: number
}

/**
 * Takes the lock anew for each tick, and releases it when all rows of the tick are settled. The first process
 * that polls then gets the next tick. While another process holds the lock, the tick is skipped.
 */
export class SingleWriterSource implements PendingSource {
  readonly #options: SingleWriterSourceOptions
  #tick: Tick | undefined

  constructor(options: SingleWriterSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number, hasNews: boolean): Promise<PendingBatch> {
    const { source, lock, tracer, logger } = this.#options
    if ((await lock.acquire()) === undefined) return noPending

    const tick = (this.#tick ??= {
      span: spanFrom(tracer, 'outbox.poller.tick', logger),
      unsettled: [],
      settledCount: 0,
      succeededCount: 0,
    })
    const batch = await source.fetch(limit, hasNews)
    countSettled(tick)
    tick.unsettled = [...tick.unsettled, ...batch.deliveries]
    return batch
  }

  startOver(): void {
    this.#options.source.startOver?.()
  }

  /** Ends the tick: waits for its settlements and releases the lock. Never rejects. */
  async drained(error?: unknown): Promise<void> {
    const tick = this.#tick
    if (tick === undefined) return

    await this.#options.untilSettled(tick.unsettled)
    this.#tick = undefined
    countSettled(tick)
    endSpan(tick, error)
    // Closing gave up on a row that was read under the lock. The end of the lock counts it as lost.
    if (tick.unsettled.some(({ lock }) => lock !== undefined)) return this.#options.lock.abandon()
    try {
      await this.#options.lock.release()
    } catch (failure) {
      this.#options.logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(failure)}`)
    }
  }
}

function countSettled(tick: Tick): void {
  const { length } = tick.unsettled
  tick.unsettled = tick.unsettled.filter(({ ended, hasSucceeded }) => {
    if (hasSucceeded) tick.succeededCount++
    return !ended
  })
  tick.settledCount += length - tick.unsettled.length
}

function endSpan({ span, settledCount, succeededCount }: Tick, error: unknown): void {
  if (span === undefined) return
  span.setAttribute('batch.size', settledCount)
  span.setAttribute('success.count', succeededCount)
  span.setAttribute('failure.count', settledCount - succeededCount)
  if (error instanceof Error) span.recordException(error)
  span.end()
}
