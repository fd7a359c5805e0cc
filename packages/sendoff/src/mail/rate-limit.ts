import type { Clock } from '../clock.ts'
import { checkOptions, count, duration, requireOptions } from '../options.ts'

export interface RateLimitOptions {
  /** So many mails … */
  readonly mails: number
  /** … in so much time: 1 s. */
  readonly perMs?: number
}

// A turn that mails were waiting for is often taken late, by as long as a claim takes. Up to this is made up for.
const catchUpMs = 100
// More mails come back than can be sent here, so that other processes find some as well.
const returnsPerTurn = 4
const longestWaitMs = 60_000

/**
 * Spaces the mails of a provider evenly in this process.
 *
 * A turn belongs to no mail: the one that is there takes it. A mail that finds none waits in the table, where any process may find
 * it next, and no longer than a minute: by then there may be more processes, or a higher limit.
 */
export class RateLimit {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #stepMs: number
  #nextTurn = -Infinity
  #lastReturn = -Infinity

  constructor(provider: string, options: RateLimitOptions, clock: Clock, random = Math.random) {
    const what = `the rate limit of "${provider}"`
    checkOptions(what, options, { mails: count, perMs: duration })
    requireOptions(what, options, ['mails'])
    this.#clock = clock
    this.#random = random
    this.#stepMs = (options.perMs ?? 1_000) / options.mails
  }

  /** 0 when a mail may be sent now; otherwise how long it has to wait. */
  takeTurn(): number {
    const now = this.#clock.monotonic()
    if (now < this.#nextTurn) return this.#waitMs(now)

    const wasAwaited = this.#lastReturn >= this.#nextTurn
    this.#nextTurn = (wasAwaited ? Math.max(this.#nextTurn, now - catchUpMs) : now) + this.#stepMs
    return 0
  }

  #waitMs(now: number): number {
    const next = Math.max(this.#lastReturn + this.#stepMs / returnsPerTurn, this.#nextTurn)
    const latest = Math.max(now + longestWaitMs, this.#nextTurn)
    // Behind the last place they are spread, lest they all come back at once.
    if (next > latest) return Math.ceil(longestWaitMs * (0.5 + this.#random() / 2))
    this.#lastReturn = next
    return Math.ceil(next - now)
  }
}
