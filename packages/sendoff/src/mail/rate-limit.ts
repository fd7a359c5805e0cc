import type { Cancel, Clock } from '../clock.ts'
import { checkOptions, count, duration, requireOptions } from '../options.ts'

/** The largest number of mails that a process sends in a period. */
export interface RateLimitOptions {
  /** So many mails … */
  readonly mails: number
  /** … in so much time: 1 s. */
  readonly perMs?: number
}

export interface RateLimitParts {
  readonly clock: Clock
  /** Asks the poller to look for mails: there is a turn for one. */
  readonly wake: () => void
  readonly random?: () => number
}

// A turn that mails were waiting for is often taken late, by as long as a claim takes. Up to this is made up for.
const catchUpMs = 100
// Waiting mails come back a few at a time, and more of them than can be sent here.
const returnSpacingMs = 5
const returnsPerTurn = 4
const longestWaitMs = 60_000
const shortestPollPauseMs = 5
const longestPollPauseMs = 1_000

/**
 * Spaces the mails of a provider evenly in this process.
 *
 * A turn belongs to no mail: the one that is there takes it. A mail that finds none waits in the table, where any process may find
 * it next, and no longer than a minute: by then there may be more processes, or a higher limit. So that each process finds as many
 * mails as it may send, it looks for some whenever it has a turn, and not when one of them falls due.
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

  /** 0 when a mail may be sent now; otherwise how long it has to wait. */
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

  /** Looks for no more mails. */
  stop(): void {
    this.#cancel?.()
    this.#lastMail = -Infinity
  }

  #waitMs(now: number): number {
    const spacingMs = Math.min(returnSpacingMs, this.#stepMs / returnsPerTurn)
    const first = Math.min(this.#nextTurn, now + longestPollPauseMs)
    const next = Math.max(this.#lastReturn + spacingMs, first)
    // Behind the last place they are spread, lest they all come back at once.
    const random = this.#parts.random ?? Math.random
    if (next > now + longestWaitMs) return Math.ceil(longestWaitMs * (0.5 + random() / 2))
    this.#lastReturn = next
    return Math.ceil(next - now)
  }

  // Goes on for a while after the last mail was seen: others may wait that another process has put off.
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
