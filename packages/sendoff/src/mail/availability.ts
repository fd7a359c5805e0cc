import type { Clock } from '../clock.ts'
import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'

export interface AvailabilityOptions {
  /** As in the log: `The transport of "default" (nodemailer)`. */
  readonly name: string
  readonly clock: Clock
  readonly logger: Logger
}

const firstRestMs = 5_000
const longestRestMs = 300_000
const longestAskedRestMs = 3_600_000

/**
 * Whether something that every mail of a provider needs can be used now. The log is told when an outage begins and when it ends.
 *
 * During an outage it rests, for longer each time, and then one mail tries whether it is over. All others are put off without
 * asking, and without counting an attempt.
 */
export class Availability {
  readonly #options: AvailabilityOptions
  #outage: Outage | undefined
  #isDoubted = false

  constructor(options: AvailabilityOptions) {
    this.#options = options
  }

  /** How long a mail has to wait; 0 when it may begin. */
  get restMs(): number {
    if (this.#outage === undefined) return 0
    const { tryAt, delayMs, isTried } = this.#outage
    const leftMs = Math.max(0, tryAt - this.#options.clock.monotonic())
    return isTried ? Math.max(leftMs, delayMs) : leftMs
  }

  /** Begins with a mail that need not wait. Returns whether the caller has to verify first that the outage is over. */
  begin(): boolean {
    const mustVerify = this.#outage !== undefined || this.#isDoubted
    this.#isDoubted = false
    if (this.#outage !== undefined) this.#outage.isTried = true
    return mustVerify
  }

  /** It cannot be used. Returns how long to wait: at least as long as it has asked for. */
  failed(error: unknown, askedMs = 0): number {
    const { name, clock, logger } = this.#options
    const known = this.#outage
    // Mails that were on their way when it began say nothing new.
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

  /** It has answered, whatever it said. */
  answered(): void {
    if (this.#outage === undefined) return
    this.#outage = undefined
    this.#options.logger.info(`${this.#options.name} can be used again.`)
  }

  /** A mail has failed in a way that may be its own fault. The next one has to verify. */
  doubt(): void {
    this.#isDoubted = true
  }

  /** The mail that was to try has told nothing. */
  untold(): void {
    if (this.#outage !== undefined) this.#outage.isTried = false
  }
}

interface Outage {
  readonly tryAt: number
  readonly delayMs: number
  isTried: boolean
}
