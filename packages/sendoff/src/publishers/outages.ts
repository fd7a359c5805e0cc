import { describeError } from '../describe-error.ts'
import type { Logger } from '../observe/logger.ts'

/** Options of `Outages`. */
export interface OutagesOptions {
  /** Name for the log, such as `Kafka`. */
  readonly name: string
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly logger: Logger
  readonly now: () => number
}

/** A batch under way. `beganAt` is by the clock of the outages. */
export interface Attempt {
  readonly beganAt: number
}

const partlyToldEveryMs = 60_000

/**
 * Knows which destinations cannot be reached at the moment. It logs when an outage begins and when it ends.
 *
 * During an outage, and only after the wait, one batch at a time tries whether it is over. Other batches are
 * deferred meanwhile, without a call to the destination.
 */
export class Outages {
  readonly #options: OutagesOptions
  readonly #outages = new Map<string, Outage>()
  // Kept until a batch that began later has succeeded.
  readonly #endedAt = new Map<string, number>()
  readonly #partlyToldAt = new Map<string, number>()

  constructor(options: OutagesOptions) {
    this.#options = options
  }

  /**
   * Returns how long a batch has to wait before it tries a destination, in ms. If this returns 0, the batch
   * has to try now, and to call `ended` at its end, whatever its result.
   */
  waitMs(destination: string, batch: Attempt): number {
    const outage = this.#outages.get(destination)
    if (outage === undefined) return 0

    const leftMs = outage.tryAt - this.#options.now()
    if (leftMs > 0 || outage.triedBy !== undefined) return Math.max(leftMs, this.#options.firstDelayMs)
    outage.triedBy = batch
    return 0
  }

  /** Records that a batch could not reach a destination. Returns how long to wait, in ms. */
  failed(destination: string, batch: Attempt, error: unknown): number {
    const { name, firstDelayMs, maxDelayMs, logger, now } = this.#options
    const known = this.#outages.get(destination)
    // Other batches that were on their way when the outage began add no news.
    if (known !== undefined && known.triedBy !== batch) return Math.max(known.tryAt - now(), firstDelayMs)
    if (known === undefined && this.#hasEndedSince(destination, batch)) return firstDelayMs

    const delayMs = known === undefined ? firstDelayMs : Math.min(maxDelayMs, known.delayMs * 2)
    this.#outages.set(destination, { tryAt: now() + delayMs, delayMs, triedBy: undefined })
    if (known === undefined) {
      logger.warn(
        `${nameOf(name, destination)} cannot be reached; events for it wait and no attempt is counted. ${describeError(error)}`,
      )
    }
    return delayMs
  }

  /**
   * Records that a destination did not accept a part of a batch, but replied to the rest. Returns how long
   * that part waits, in ms.
   */
  failedPartly(destination: string, error: unknown): number {
    const { name, firstDelayMs, logger, now } = this.#options
    const toldAt = this.#partlyToldAt.get(destination)
    if (toldAt === undefined || now() - toldAt >= partlyToldEveryMs) {
      this.#partlyToldAt.set(destination, now())
      logger.warn(
        `${nameOf(name, destination)} does not accept a part of the events; they wait and no attempt is counted. ${describeError(error)}`,
      )
    }
    return firstDelayMs
  }

  /**
   * Records that a destination replied to a batch, whatever it said. This ends an outage only if that batch
   * was the one to try: others began before the outage.
   */
  answered(destination: string, batch: Attempt): void {
    const outage = this.#outages.get(destination)
    if (outage === undefined) {
      if (!this.#hasEndedSince(destination, batch)) this.#endedAt.delete(destination)
      return
    }
    if (outage.triedBy !== batch) return
    this.#outages.delete(destination)
    this.#endedAt.set(destination, this.#options.now())
    this.#options.logger.warn(`${nameOf(this.#options.name, destination)} can be reached again.`)
  }

  /**
   * Records that a batch has ended. If it was the one to try the destination and did not reach it, another
   * batch may try.
   */
  ended(destination: string, batch: Attempt): void {
    const outage = this.#outages.get(destination)
    if (outage?.triedBy === batch) outage.triedBy = undefined
  }

  #hasEndedSince(destination: string, { beganAt }: Attempt): boolean {
    const endedAt = this.#endedAt.get(destination)
    return endedAt !== undefined && endedAt >= beganAt
  }
}

interface Outage {
  readonly tryAt: number
  readonly delayMs: number
  /** The batch that tries whether the outage is over. */
  triedBy: Attempt | undefined
}

function nameOf(name: string, destination: string): string {
  return destination === '' ? name : `${name} at ${destination}`
}
