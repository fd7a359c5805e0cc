import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'

/** Options of `Availability`. */
export interface AvailabilityOptions {
  /** Name for the log, such as `The transport of "default" (nodemailer)`. */
  readonly name: string
  readonly clock: Clock
  readonly logger: Logger
}

const firstRestMs = 5_000
const longestRestMs = 300_000
const longestAskedRestMs = 3_600_000

/**
 * Knows whether something that every mail of a provider needs can be used now. It logs when an outage begins
 * and when it ends.
 *
 * During an outage mails wait, longer each time. Then one mail tries whether the outage is over. All other
 * mails are deferred without a try, and without counting an attempt.
 */
export class Availability {
  readonly #options: AvailabilityOptions
  #outage: Outage | undefined
  #isDoubted = false

  constructor(options: AvailabilityOptions) {
    this.#options = options
  }

  /** How long a mail has to wait, in ms; 0 when it may begin. */
  get restMs(): number {
    if (this.#outage === undefined) return 0
    const { tryAt, delayMs, isTried } = this.#outage
    const leftMs = Math.max(0, tryAt - this.#options.clock.monotonic())
    return isTried ? Math.max(leftMs, delayMs) : leftMs
  }

  /**
   * Begins a mail that need not wait. Returns whether the caller has to verify first that the outage is over.
   */
  begin(): boolean {
    const mustVerify = this.#outage !== undefined || this.#isDoubted
    this.#isDoubted = false
    if (this.#outage !== undefined) this.#outage.isTried = true
    return mustVerify
  }

  /** Records a failure. Returns how long to wait, in ms: at least `askedMs`. */
  failed(error: unknown, askedMs = 0): number {
    const { name, clock, logger } = this.#options
    const known = this.#outage
    // Mails that were on their way when the outage began add no news.
    if (known !== undefined && !known.isTried) return Math.max(this.restMs, firstRestMs)

    const backoffMs = known === undefined ? firstRestMs : Math.min(longestRestMs, known.delayMs * 2)
    const delayMs = Math.max(backoffMs, Math.min(askedMs, longestAskedRestMs))
    this.#outage = { tryAt: clock.monotonic() + delayMs, delayMs, isTried: false }
    if (known === undefined) {
      logger.warn(
        `${name} cannot be used. Mails wait, no attempt is counted, and it is tried again by itself. ${describeError(error)}`,
      )
    }
    return delayMs
  }

  /** Records a reply, whatever it said: the outage is over. */
  answered(): void {
    if (this.#outage === undefined) return
    this.#outage = undefined
    this.#options.logger.info(`${this.#options.name} can be used again.`)
  }

  /** Records that a mail failed in a way that may be its own fault. The next mail has to verify. */
  doubt(): void {
    this.#isDoubted = true
  }

  /** Records that the trying mail ended without a result. Another mail may try. */
  untold(): void {
    if (this.#outage !== undefined) this.#outage.isTried = false
  }
}

interface Outage {
  readonly tryAt: number
  readonly delayMs: number
  isTried: boolean
}
