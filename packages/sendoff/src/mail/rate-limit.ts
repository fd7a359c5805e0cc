import type { Clock } from '../clock.ts'
import { checkOptions, count, duration, requireOptions } from '../options.ts'

export interface RateLimitOptions {
  /** So many mails … */
  readonly mails: number
  /** … in so much time: 1 s. */
  readonly perMs?: number
}

// Turns that nobody comes back for, because another process has the mail by now, are forgotten.
const maxTurns = 10_000

/**
 * Gives each mail a turn, evenly spaced. A mail whose turn has not come is told how long to wait, and keeps its turn, so that
 * it has to wait only once.
 */
export class RateLimit {
  readonly #clock: Clock
  readonly #stepMs: number
  readonly #turns = new Map<string, number>()
  #nextTurn = 0

  constructor(provider: string, options: RateLimitOptions, clock: Clock) {
    const what = `the rate limit of "${provider}"`
    checkOptions(what, options, { mails: count, perMs: duration })
    requireOptions(what, options, ['mails'])
    this.#clock = clock
    this.#stepMs = (options.perMs ?? 1_000) / options.mails
  }

  /** 0 when the mail may be sent now; otherwise how long it has to wait. */
  waitFor(id: string): number {
    const now = this.#clock.monotonic()
    const turn = this.#turns.get(id) ?? Math.max(now, this.#nextTurn)
    if (!this.#turns.has(id)) this.#nextTurn = turn + this.#stepMs
    this.#turns.delete(id)
    if (turn <= now) return 0

    this.#turns.set(id, turn)
    if (this.#turns.size > maxTurns) this.#turns.delete(this.#turns.keys().next().value!)
    return Math.ceil(turn - now)
  }
}
