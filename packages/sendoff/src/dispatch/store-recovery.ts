import type { Cancel, Clock } from '../clock.ts'

/**
 * Knows whether the store answers, for everything that waits before it asks again.
 *
 * Every call of the store that succeeds is counted. A call that failed waits for the next success of any other call, and no
 * longer than its own pause.
 */
export class StoreRecovery {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #answers = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many calls have succeeded so far. */
  get answers(): number {
    return this.#answers
  }

  /** To be called whenever a call of the store has succeeded. Costs next to nothing while nothing waits. */
  answered(): void {
    this.#answers++
    if (this.#waiting.size === 0) return
    for (const end of [...this.#waiting]) end()
  }

  /** Calls back once: when the store answers, or after `ms`. */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel {
    const cancelTimer = this.#clock.schedule(ms, end, keepAlive)
    const waiting = this.#waiting.add(end)
    return cancel

    function cancel(): void {
      cancelTimer()
      waiting.delete(end)
    }
    function end(): void {
      cancel()
      callback()
    }
  }
}

export interface BackOffOptions {
  readonly recovery: StoreRecovery
  readonly clock: Clock
  /** The pause after the first failure. */
  readonly firstMs: number
  readonly longestMs: number
}

/**
 * The pauses of one repeated call of the store. They double with each failure, and end as soon as the store answers any other
 * call. Where the call fails although the store answers others, the fault is its own: then only time ends its pauses.
 */
export class BackOff {
  readonly #options: BackOffOptions
  #failures = 0
  #ownFailures = 0
  #answersAtFailure = 0

  constructor(options: BackOffOptions) {
    this.#options = options
  }

  /** How many calls in a row have failed. */
  get failures(): number {
    return this.#failures
  }

  succeeded(): void {
    this.#failures = this.#ownFailures = 0
  }

  failed(): void {
    const { answers } = this.#options.recovery
    const isOwn = this.#failures > 0 && answers > this.#answersAtFailure
    this.#ownFailures = isOwn ? this.#ownFailures + 1 : 0
    this.#answersAtFailure = answers
    this.#failures++
  }

  /** How long the present pause may take. */
  get pauseMs(): number {
    const { firstMs, longestMs } = this.#options
    return Math.min(longestMs, firstMs * 2 ** (Math.max(1, this.#ownFailures || this.#failures) - 1))
  }

  /** Calls back once, when the call may be repeated: after `ms`, or earlier where it failed and the store answers again. */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel {
    const { recovery, clock } = this.#options
    const isOutage = this.#failures > 0 && this.#ownFailures === 0
    return (isOutage ? recovery : clock).schedule(ms, callback, keepAlive)
  }
}
