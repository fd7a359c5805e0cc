import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'

export interface OutagesOptions {
  /** As in the log: `Kafka`. */
  readonly name: string
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly logger: Logger
  readonly now: () => number
}

/**
 * Which destinations cannot be reached at the moment, told to the log when it begins and when it ends.
 *
 * During an outage one batch at a time tries whether it is over, and only when the wait has passed.
 * Whatever comes meanwhile is put off without bothering the destination.
 */
export class Outages {
  readonly #options: OutagesOptions
  readonly #outages = new Map<string, Outage>()

  constructor(options: OutagesOptions) {
    this.#options = options
  }

  /** How long to wait before trying a destination; 0 says that the caller is to try it now. */
  waitMs(destination: string): number {
    const outage = this.#outages.get(destination)
    if (outage === undefined) return 0

    const leftMs = outage.tryAt - this.#options.now()
    if (leftMs > 0 || outage.isTried) return Math.max(leftMs, this.#options.firstDelayMs)
    outage.isTried = true
    return 0
  }

  /** A destination could not be reached. Answers how long to wait. */
  failed(destination: string, error: unknown): number {
    const { name, firstDelayMs, maxDelayMs, logger, now } = this.#options
    const known = this.#outages.get(destination)
    // Others that were on their way when it began say nothing new.
    if (known !== undefined && !known.isTried) return Math.max(known.tryAt - now(), firstDelayMs)

    const delayMs = known === undefined ? firstDelayMs : Math.min(maxDelayMs, known.delayMs * 2)
    this.#outages.set(destination, { tryAt: now() + delayMs, delayMs, isTried: false })
    if (known === undefined) {
      logger.warn(
        `${nameOf(name, destination)} cannot be reached; events for it wait and no attempt is counted. ${describeError(error)}`,
      )
    }
    return delayMs
  }

  /** A destination has answered, whatever it said. */
  answered(destination: string): void {
    if (!this.#outages.delete(destination)) return
    this.#options.logger.info(`${nameOf(this.#options.name, destination)} can be reached again.`)
  }

  /** The try was broken off and has told nothing. */
  untold(destination: string): void {
    const outage = this.#outages.get(destination)
    if (outage !== undefined) outage.isTried = false
  }
}

interface Outage {
  readonly tryAt: number
  readonly delayMs: number
  isTried: boolean
}

function nameOf(name: string, destination: string): string {
  return destination === '' ? name : `${name} at ${destination}`
}
