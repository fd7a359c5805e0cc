import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import type { CircuitBreakerState } from '../observe/metrics.ts'
import { checkOptions, count, duration, type OptionCheck } from '../options.ts'

/** Options of the circuit breaker of `Outbox.singleWriter`. */
export interface CircuitBreakerOptions {
  /** The share of failures that opens it. Default: 0.5. */
  readonly failureRate?: number
  /** How many calls the window needs before it can open. Default: 10. */
  readonly minimumCalls?: number
  /** For how many milliseconds calls count. Default: 10 s. */
  readonly windowMs?: number
  /** How many milliseconds it stays open before it tries a call again. Default: 5 s. */
  readonly coolDownMs?: number
  /** How many trial calls in a row must succeed before it closes. Default: 1. */
  readonly trialCalls?: number
}

const share: OptionCheck = (value) =>
  typeof value === 'number' && value > 0 && value <= 1 ? undefined : 'a number above 0 and not above 1'

/** Checks of the options of a circuit breaker. */
export const circuitBreakerChecks: Readonly<Record<keyof CircuitBreakerOptions, OptionCheck>> = {
  failureRate: share,
  minimumCalls: count,
  windowMs: duration,
  coolDownMs: duration,
  trialCalls: count,
}

/** Defaults of a circuit breaker's options. */
export const circuitBreakerDefaults: Readonly<Required<CircuitBreakerOptions>> = {
  failureRate: 0.5,
  minimumCalls: 10,
  windowMs: 10_000,
  coolDownMs: 5_000,
  trialCalls: 1,
}

/** The parts that a circuit breaker uses. */
export interface CircuitBreakerParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly onState: (state: CircuitBreakerState) => void
  /** The destination that it protects, for the log; undefined for the whole hot path. */
  readonly name?: string
}

/** Stops calls to a destination for a while, if most of them fail. */
export class CircuitBreaker {
  readonly #options: Required<CircuitBreakerOptions>
  readonly #parts: CircuitBreakerParts
  #calls: { readonly at: number; readonly failed: boolean }[] = []
  #state: CircuitBreakerState = 'closed'
  #openedAt = 0
  #trials = 0
  #successes = 0

  constructor(options: CircuitBreakerOptions, parts: CircuitBreakerParts) {
    checkOptions('circuitBreaker', options, circuitBreakerChecks)
    this.#options = { ...circuitBreakerDefaults, ...options }
    this.#parts = parts
  }

  get coolDownMs(): number {
    return this.#options.coolDownMs
  }

  get state(): CircuitBreakerState {
    const isOver = this.#parts.clock.monotonic() >= this.#openedAt + this.#options.coolDownMs
    if (this.#state === 'open' && isOver) this.#become('halfOpen')
    return this.#state
  }

  /** Whether a call would be refused. */
  get isOpen(): boolean {
    return this.state === 'open' || (this.state === 'halfOpen' && this.#trials >= this.#options.trialCalls)
  }

  /** How many calls it lets through now. */
  get allowedCalls(): number {
    if (this.state === 'closed') return Infinity
    return this.isOpen ? 0 : this.#options.trialCalls - this.#trials
  }

  /** Returns whether a call may be made. If so, `ended` must be called after it. */
  begin(): boolean {
    if (this.isOpen) return false
    if (this.#state === 'halfOpen') this.#trials += 1
    return true
  }

  ended(succeeded: boolean): void {
    if (this.#state === 'closed') return this.#count(!succeeded)
    if (this.#state === 'open') return // begun before it opened
    if (!succeeded) return this.#become('open')

    this.#successes += 1
    if (this.#successes >= this.#options.trialCalls) this.#become('closed')
  }

  #count(failed: boolean): void {
    const { failureRate, minimumCalls, windowMs } = this.#options
    const now = this.#parts.clock.monotonic()
    this.#calls.push({ at: now, failed })
    // We drop old calls now and then, and when there are too many.
    if (this.#calls.length >= maxCalls || this.#calls[0]!.at < now - 2 * windowMs) {
      this.#calls = this.#calls.filter(({ at }) => at >= now - windowMs).slice(-maxCalls / 2)
    }
    if (!failed) return

    const recent = this.#calls.filter(({ at }) => at >= now - windowMs)
    const failures = recent.filter((call) => call.failed).length
    if (recent.length >= minimumCalls && failures >= recent.length * failureRate) this.#become('open')
  }

  #become(state: CircuitBreakerState): void {
    const { clock, logger, onState, name } = this.#parts
    const what = name === undefined ? 'The circuit breaker' : `The circuit breaker of destination "${name}"`
    this.#state = state
    this.#calls = []
    this.#trials = this.#successes = 0
    if (state === 'open') {
      this.#openedAt = clock.monotonic()
      logger.warn(
        `${what} is open: events ${name === undefined ? 'are left to the poller' : 'wait in the table'} for a while.`,
      )
    } else if (state === 'closed') {
      logger.info(
        `${what} is closed: events are ${name === undefined ? 'sent right after their commits' : 'delivered'} again.`,
      )
    }
    onState(state)
  }
}

/** How many calls are remembered at most. */
const maxCalls = 1_000
