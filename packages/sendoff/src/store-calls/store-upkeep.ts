import type { Cancel, Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import { BackOff, type StoreRecovery } from './store-recovery.ts'
import type { Logger } from '../observe/logger.ts'

/** Options of `StoreUpkeep`. */
export interface StoreUpkeepOptions {
  readonly upkeep: () => Promise<readonly string[]>
  readonly clock: Clock
  readonly logger: Logger
  readonly recovery: StoreRecovery
}

/** An hour is often enough for time partitions, which are made days ahead. */
const intervalMs = 3_600_000

/**
 * Runs a store's upkeep once an hour, in every process, so that no process depends on one that purges. Faults
 * are logged.
 */
export class StoreUpkeep {
  readonly #options: StoreUpkeepOptions
  readonly #backOff: BackOff
  #cancel: Cancel | undefined
  #isClosed = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: StoreUpkeepOptions) {
    this.#options = options
    this.#backOff = new BackOff({
      ...options,
      what: 'The upkeep of the store',
      firstMs: intervalMs,
      longestMs: intervalMs,
    })
  }

  /** Runs at once, and again after every interval. */
  start(): void {
    this.#running = this.#run()
  }

  /** Stops, and resolves when the run under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel?.()
    await this.#running
  }

  async #run(): Promise<void> {
    const { upkeep, logger } = this.#options
    try {
      for (const warning of await upkeep()) logger.warn(warning)
      this.#backOff.succeeded()
    } catch (error) {
      this.#backOff.failed(`The upkeep of the store failed and will be tried again. ${describeError(error)}`)
    }
    if (!this.#isClosed) this.#cancel = this.#backOff.schedule(intervalMs, () => this.start())
  }
}
