import type { Cancel, Clock } from '../clock.ts'
import { durationText } from '../duration-text.ts'
import type { Logger } from '../observe/logger.ts'
import type { OutboxEvents } from '../observe/outbox-events.ts'

/**
 * The pause between log lines about a call that keeps failing although the store answers others, in
 * milliseconds.
 */
const reminderMs = 60_000

/**
 * Tracks whether the store answers, for all calls that wait before they try again.
 *
 * It counts every call of the store that succeeds. A failed call waits for the next success of any other
 * call, and no longer than its own pause.
 *
 * An outage takes two log lines, however many calls fail in it: one at the first failure, and one when the
 * store answers again.
 */
export class StoreRecovery {
  readonly #clock: Clock
  readonly #events: OutboxEvents | undefined
  #outage: { readonly since: number; readonly logger: Logger; failures: number } | undefined
  /** The kinds of calls that have failed and not succeeded since, and when they were last logged. */
  readonly #told = new Map<string, number>()
  readonly #waiting = new Set<() => void>()
  #answers = 0

  /** `events` tells subscribers about outages. */
  constructor(clock: Clock, events?: OutboxEvents) {
    this.#clock = clock
    this.#events = events
  }

  /** How many calls have succeeded so far. */
  get answers(): number {
    return this.#answers
  }

  /** Whether calls have failed, and none has succeeded since. */
  get isOutage(): boolean {
    return this.#outage !== undefined
  }

  /** Call it whenever a call of the store has succeeded. It costs next to nothing while nothing waits. */
  answered(): void {
    this.#answers++
    if (this.#outage !== undefined) this.#endOutage()
    if (this.#waiting.size === 0) return
    for (const end of [...this.#waiting]) end()
  }

  /**
   * Records a failed call of this kind. Logs `message`, unless an outage is known, or the same was logged a
   * moment ago.
   */
  failed(what: string, logger: Logger, message: string): void {
    if (this.#outage !== undefined) {
      this.#outage.failures++
      return
    }
    const now = this.#clock.monotonic()
    const toldAt = this.#told.get(what)
    if (toldAt !== undefined && now < toldAt + reminderMs) return
    this.#told.set(what, now)
    this.#outage = { since: now, logger, failures: 1 }
    logger.error(message)
    this.#events?.tell('outage', () => ({ of: 'store', destination: null, reason: message }))
  }

  /** Records a successful call of this kind. Its next failure is logged again. */
  succeeded(what: string): void {
    this.#told.delete(what)
  }

  #endOutage(): void {
    const { since, logger, failures } = this.#outage!
    this.#outage = undefined
    const lastedMs = this.#clock.monotonic() - since
    logger.warn(
      `The store answers again after ${durationText(lastedMs)}. ${failures} ${failures === 1 ? 'call' : 'calls'} had failed.`,
      { lastedMs, count: failures },
    )
    this.#events?.tell('recovered', () => ({ of: 'store', destination: null, lastedMs }))
  }

  /** Calls back once: when the store answers, or after `ms` milliseconds. */
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

/** Options of `BackOff`. */
export interface BackOffOptions {
  /** The kind of call, as the log names it: `Polling`. */
  readonly what: string
  readonly logger: Logger
  readonly recovery: StoreRecovery
  readonly clock: Clock
  /** The pause after the first failure, in milliseconds. */
  readonly firstMs: number
  /** The longest pause, in milliseconds. */
  readonly longestMs: number
}

/**
 * The pauses of one repeated call of the store. They double with each failure, and end as soon as the store
 * answers any other call. If the call fails although the store answers others, the fault is its own. Then
 * only time ends its pauses.
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
    if (this.#failures > 0) this.#options.recovery.succeeded(this.#options.what)
    this.#failures = this.#ownFailures = 0
  }

  /** Records a failure of the call. Logs `message`, unless the outage is known. */
  failed(message: string): void {
    const { what, logger, recovery } = this.#options
    recovery.failed(what, logger, message)
    const { answers } = recovery
    const isOwn = this.#failures > 0 && answers > this.#answersAtFailure
    this.#ownFailures = isOwn ? this.#ownFailures + 1 : 0
    this.#answersAtFailure = answers
    this.#failures++
  }

  /** How many milliseconds the current pause may take. */
  get pauseMs(): number {
    const { firstMs, longestMs } = this.#options
    return Math.min(longestMs, firstMs * 2 ** (Math.max(1, this.#ownFailures || this.#failures) - 1))
  }

  /**
   * Calls back once, when the call may be repeated: after `ms` milliseconds, or in an outage as soon as the
   * store answers again.
   */
  schedule(ms: number, callback: () => void, keepAlive?: 'keepAlive'): Cancel {
    const { recovery, clock } = this.#options
    const isOutage = this.#failures > 0 && this.#ownFailures === 0
    return (isOutage ? recovery : clock).schedule(ms, callback, keepAlive)
  }
}
