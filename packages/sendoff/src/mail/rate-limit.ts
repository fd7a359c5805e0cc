import type { Cancel, Clock } from '../clock.ts'
import { checkOptions, count, duration, requireOptions } from '../options.ts'

/** Options of a rate limit. */
export interface RateLimitOptions {
  /** Most mails in the time of `perMs`. */
  readonly mails: number
  /** Length of the time, in ms: 1 s by default. */
  readonly perMs?: number
}

/** The parts that a `RateLimit` works with. */
export interface RateLimitParts {
  readonly clock: Clock
  /** Makes the poller poll for mails: a turn is free. */
  readonly wake: () => void
  readonly random?: () => number
}

// Waiting mails often take their turn late, by the time that a claim takes. The limit makes up for delays up
// to this one.
const catchUpMs = 100
// Waiting mails come back a few at a time, but more of them than this process can send.
const returnSpacingMs = 5
const returnsPerTurn = 4
const longestWaitMs = 60_000
const shortestPollPauseMs = 5
const longestPollPauseMs = 1_000

/**
 * Spaces the mails of a provider evenly in this process.
 *
 * A turn belongs to no mail: the first mail that comes takes it. A mail without a turn waits in the table,
 * where any process may find it next. It waits for at most a minute: by then there may be more processes, or
 * a higher limit.
 *
 * A process polls for mails whenever it has a turn, and not when a mail falls due. So each process finds as
 * many mails as it may send.
 */
export class RateLimit {
  readonly #parts: RateLimitParts
  readonly #stepMs: number
  #nextTurn = 0
  #lastReturn = -Infinity
  #lastMail = 0
  #pollPauseMs = 0
  #cancel: Cancel | undefined

  constructor(provider: string, options: RateLimitOptions, parts: RateLimitParts) {
    const what = `the rate limit of "${provider}"`
    checkOptions(what, options, { mails: count, perMs: duration })
    requireOptions(what, options, ['mails'])
    this.#parts = parts
    this.#stepMs = (options.perMs ?? 1_000) / options.mails
  }

  /** Returns 0 if a mail may be sent now; otherwise how long it has to wait, in ms. */
  takeTurn(): number {
    const now = this.#parts.clock.monotonic()
    const wasAwaited = this.#lastReturn >= this.#nextTurn
    this.#lastMail = now
    this.#pollPauseMs = Math.max(shortestPollPauseMs, this.#stepMs / 8)
    if (now < this.#nextTurn) {
      this.#pollAfter(this.#nextTurn - now)
      return this.#waitMs(now)
    }
    this.#nextTurn = (wasAwaited ? Math.max(this.#nextTurn, now - catchUpMs) : now) + this.#stepMs
    return 0
  }

  /** Ends the polls for mails. */
  stop(): void {
    this.#cancel?.()
    this.#lastMail = -Infinity
  }

  #waitMs(now: number): number {
    const spacingMs = Math.min(returnSpacingMs, this.#stepMs / returnsPerTurn)
    const first = Math.min(this.#nextTurn, now + longestPollPauseMs)
    const next = Math.max(this.#lastReturn + spacingMs, first)
    // Mails beyond the last place get different waits, so that they do not all come back at once.
    const random = this.#parts.random ?? Math.random
    if (next > now + longestWaitMs) return Math.ceil(longestWaitMs * (0.5 + random() / 2))
    this.#lastReturn = next
    return Math.ceil(next - now)
  }

  // Polls for a while after the last mail: mails that another process deferred may be waiting.
  #pollAfter(ms: number): void {
    this.#cancel ??= this.#parts.clock.schedule(Math.ceil(ms), () => {
      const { clock, wake } = this.#parts
      this.#cancel = undefined
      const now = clock.monotonic()
      if (now - this.#lastMail > longestWaitMs) return
      if (now < this.#nextTurn) return this.#pollAfter(this.#nextTurn - now)
      wake()
      this.#pollAfter(this.#pollPauseMs)
      this.#pollPauseMs = Math.min(longestPollPauseMs, this.#pollPauseMs * 2)
    })
  }
}
