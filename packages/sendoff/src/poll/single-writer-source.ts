import type { Delivery } from '../dispatch/delivery.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import { spanFrom, type TracedSpan, type Tracer } from '../observe/tracing.ts'
import type { DuePlace } from '../store.ts'
import type { NamedLock } from './named-lock.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

export interface SingleWriterSourceOptions {
  /** What is read under the lock, which it takes by itself. */
  readonly source: PendingSource
  readonly lock: NamedLock
  readonly logger: Logger
  readonly tracer: Tracer | undefined
  /** Resolves when all of these are settled or were handed back. */
  readonly untilSettled: (deliveries: readonly Delivery[]) => Promise<void>
}

interface Tick {
  readonly span: TracedSpan | undefined
  readonly deliveries: Delivery[]
}

/**
 * Takes the lock for each tick anew, and gives it back when everything that was read in the tick is settled: whoever looks
 * first has the next one. Where somebody else has it, the tick is skipped.
 */
export class SingleWriterSource implements PendingSource {
  readonly #options: SingleWriterSourceOptions
  #tick: Tick | undefined

  constructor(options: SingleWriterSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number, place: DuePlace | undefined, hasNews: boolean): Promise<PendingBatch> {
    const { source, lock, tracer, logger } = this.#options
    if ((await lock.acquire()) === undefined) return noPending

    this.#tick ??= { span: spanFrom(tracer, 'outbox.poller.tick', logger), deliveries: [] }
    const batch = await source.fetch(limit, place, hasNews)
    this.#tick.deliveries.push(...batch.deliveries)
    return batch
  }

  recordHeld(): Promise<void> {
    return this.#options.source.recordHeld?.() ?? Promise.resolve()
  }

  /** Never rejects. */
  async drained(error?: unknown): Promise<void> {
    const tick = this.#tick
    if (tick === undefined) return

    await this.#options.untilSettled(tick.deliveries)
    this.#tick = undefined
    endSpan(tick, error)
    try {
      await this.#options.lock.release()
    } catch (failure) {
      this.#options.logger.warn(`Releasing the lock failed; it runs out by itself. ${describeError(failure)}`)
    }
  }
}

function endSpan({ span, deliveries }: Tick, error: unknown): void {
  if (span === undefined) return
  const succeeded = deliveries.filter(({ hasSucceeded }) => hasSucceeded).length
  span.setAttribute('batch.size', deliveries.length)
  span.setAttribute('success.count', succeeded)
  span.setAttribute('failure.count', deliveries.length - succeeded)
  if (error instanceof Error) span.recordException(error)
  span.end()
}
