import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxStore, Outcome, OwnerFence, Settlement } from '../store.ts'
import type { Delivery } from './delivery.ts'

export interface SettlerOptions {
  readonly store: Pick<OutboxStore<never>, 'settle'>
  readonly clock: Clock
  readonly logger: Logger
  /** Proof of the lock under which rows were read without a claim. */
  readonly owner?: () => OwnerFence | undefined
  readonly onSettled: (delivery: Delivery, outcome: Outcome, refused: boolean) => void
}

const maxBatch = 500
const longestWaitMs = 5
const firstRetryMs = 50
const longestRetryMs = 5_000

/**
 * Writes outcomes to the store in batches: when there are enough, or a few milliseconds after the
 * first. One batch is on its way at a time, so that under load the next one fills meanwhile.
 *
 * A write that fails is repeated until it succeeds: the listener has done its work, and an event
 * whose settlement got lost would be delivered again. The leases are renewed meanwhile.
 */
export class Settler {
  readonly #options: SettlerOptions
  #waiting: { readonly delivery: Delivery; readonly outcome: Outcome }[] = []
  #writing = 0
  #flushing = false
  #stopped = false
  #cancelTimer: Cancel | undefined
  #cancelRetry: Cancel | undefined
  #idle: (() => void)[] = []

  constructor(options: SettlerOptions) {
    this.#options = options
  }

  /** Outcomes that the store has not acknowledged yet. */
  get backlog(): number {
    return this.#waiting.length + this.#writing
  }

  add(delivery: Delivery, outcome: Outcome): void {
    this.#waiting.push({ delivery, outcome })
    if (this.#waiting.length >= maxBatch) this.flush()
    else if (!this.#flushing)
      this.#cancelTimer ??= this.#options.clock.schedule(longestWaitMs, () => this.flush())
  }

  /** Writes what is there without waiting for more. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (!this.#flushing && this.#waiting.length > 0) void this.#writeAll()
  }

  /** Resolves when everything added so far is acknowledged, or `giveUp` is called. */
  async drained(): Promise<void> {
    this.flush()
    if (this.backlog > 0 && !this.#stopped) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Stops repeating writes that fail. What is not acknowledged will be delivered again. */
  giveUp(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#cancelRetry?.()
    this.#becomeIdle()
  }

  // Never rejects: a failing store is reported and asked again.
  async #writeAll(): Promise<void> {
    this.#flushing = true
    while (this.#waiting.length > 0 && !this.#stopped) {
      const batch = this.#waiting.splice(0, maxBatch)
      this.#writing = batch.length
      const settlements = batch.map(({ delivery, outcome }) => ({ row: delivery.held, outcome }))
      const refused = await this.#write(settlements)
      this.#writing = 0
      if (refused === undefined) break
      for (const [index, { delivery, outcome }] of batch.entries()) {
        this.#options.onSettled(delivery, outcome, refused.has(settlements[index]!))
      }
    }
    this.#flushing = false
    if (this.backlog === 0) this.#becomeIdle()
  }

  /** The refused ones; undefined after giving up. */
  async #write(settlements: readonly Settlement[]): Promise<ReadonlySet<Settlement> | undefined> {
    const { store, logger, owner } = this.#options
    for (let failures = 0; !this.#stopped;) {
      try {
        const refused = await store.settle(settlements, owner?.())
        // After an error the batch may have been written already. What is refused now was then
        // settled the first time, and no lease was lost.
        return new Set(failures === 0 ? refused : [])
      } catch (error) {
        failures++
        const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1))
        logger.error(
          `Settling ${settlements.length} events failed; they were delivered and are kept. ` +
            `Trying again in ${delayMs} ms. ${describeError(error)}`,
        )
        await this.#pause(delayMs)
      }
    }
    return undefined
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.schedule(ms, resolve)
      this.#cancelRetry = () => {
        cancel()
        resolve()
      }
    })
  }

  #becomeIdle(): void {
    const waiting = this.#idle
    this.#idle = []
    waiting.forEach((resolve) => resolve())
  }
}
