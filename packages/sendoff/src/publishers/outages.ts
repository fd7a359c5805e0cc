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

/** A batch on its way, by the clock of the outages. */
export interface Attempt {
  readonly beganAt: number
}

const partlyToldEveryMs = 60_000

/**
 * Which destinations cannot be reached at the moment, told to the log when it begins and when it ends.
 *
 * During an outage one batch at a time tries whether it is over, and only when the wait has passed.
 * Whatever comes meanwhile is put off without bothering the destination.
 */
export class Outages {
  readonly #options: OutagesOptions
  readonly #outages = new Map<string, Outage>()
  // Until a batch that began later has succeeded.
  readonly #endedAt = new Map<string, number>()
  readonly #partlyToldAt = new Map<string, number>()

  constructor(options: OutagesOptions) {
    this.#options = options
  }

  /**
   * How long a batch has to wait before it tries a destination; 0 says that it is to try now. It then has to say
   * `ended` when it has ended, whatever it found out.
   */
  waitMs(destination: string, batch: Attempt): number {
    const outage = this.#outages.get(destination)
    if (outage === undefined) return 0

    const leftMs = outage.tryAt - this.#options.now()
    if (leftMs > 0 || outage.triedBy !== undefined) return Math.max(leftMs, this.#options.firstDelayMs)
    outage.triedBy = batch
    return 0
  }

  /** A batch could not reach a destination. Returns how long to wait. */
  failed(destination: string, batch: Attempt, error: unknown): number {
    const { name, firstDelayMs, maxDelayMs, logger, now } = this.#options
    const known = this.#outages.get(destination)
    // Others that were on their way when it began say nothing new.
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

  /** A destination did not take a part of a batch, and has answered for the rest. Returns how long that part waits. */
  failedPartly(destination: string, error: unknown): number {
    const { name, firstDelayMs, logger, now } = this.#options
    const toldAt = this.#partlyToldAt.get(destination)
    if (toldAt === undefined || now() - toldAt >= partlyToldEveryMs) {
      this.#partlyToldAt.set(destination, now())
      logger.warn(
        `${nameOf(name, destination)} does not take a part of the events; they wait and no attempt is counted. ${describeError(error)}`,
      )
    }
    return firstDelayMs
  }

  /**
   * A destination has answered a batch, whatever it said. An outage is over only if that batch was to find out: others
   * began before it.
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

  /** A batch has ended. If it was to try the destination and did not get to it, another batch may. */
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
  /** The batch that finds out whether the outage is over. */
  triedBy: Attempt | undefined
}

function nameOf(name: string, destination: string): string {
  return destination === '' ? name : `${name} at ${destination}`
}
