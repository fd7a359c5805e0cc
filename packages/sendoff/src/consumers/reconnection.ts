import { describeError } from '../describe-error.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import type { MessageRuns } from './message-runs.ts'

const delays = exponentialBackoff({ baseDelayMs: 200, maxDelayMs: 10_000 })

/**
 * Opens the way to a broker again after a loss, with growing waits and one attempt at a time. It logs once
 * that the broker is away, and once that it is back.
 */
export class Reconnection {
  readonly #runs: MessageRuns
  readonly #open: () => Promise<void>
  #isAway = false
  #isTrying = false
  /** Attempts since the broker worked. Some clients open without a word from the broker, and fail later. */
  #attempts = 0

  constructor(runs: MessageRuns, open: () => Promise<void>) {
    this.#runs = runs
    this.#open = open
  }

  /**
   * Reports a loss, and tries to open until it succeeds or the consumer closes. Some clients open again by
   * themselves.
   */
  lost(error: unknown, by: 'us' | 'client' = 'us'): void {
    const { name, logger, closing } = this.#runs
    if (closing.aborted) return
    if (!this.#isAway) {
      this.#isAway = true
      logger.warn(`${name} cannot be reached; its messages wait. ${describeError(error)}`)
    }
    if (by === 'us' && !this.#isTrying) void this.#try()
  }

  /** Reports that the broker works. */
  restored(): void {
    this.#attempts = 0
    if (!this.#isAway) return
    this.#isAway = false
    this.#runs.logger.warn(`${this.#runs.name} can be reached again.`)
  }

  async #try(): Promise<void> {
    const { closing } = this.#runs
    this.#isTrying = true
    while (!closing.aborted) {
      await this.#runs.wait(delays.computeDelayMs(++this.#attempts))
      if (closing.aborted) break
      try {
        await this.#open()
        break
      } catch {
        // Told when the outage began. The next attempt follows.
      }
    }
    this.#isTrying = false
  }
}
