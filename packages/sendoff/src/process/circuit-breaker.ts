import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/logger.ts'
import type { CircuitBreakerState } from '../observe/metrics.ts'
import { checkOptions, count, duration, type OptionCheck } from '../options.ts'

export interface CircuitBreakerOptions {
  /** The share of failures that opens it: 0.5. */
  readonly failureRate?: number
  /** Fewer calls than this within the window open nothing: 10. */
  readonly minimumCalls?: number
  /** How far back calls count: 10 s. */
  readonly windowMs?: number
  /** How long it stays open before a call is tried again: 5 s. */
  readonly coolDownMs?: number
  /** How many calls in a row have to succeed then: 1. */
  readonly trialCalls?: number
}

const share: OptionCheck = (value) =>
  typeof value === 'number' && value > 0 && value <= 1 ? undefined : 'a number above 0 and not above 1'

export const circuitBreakerChecks: Readonly<Record<keyof CircuitBreakerOptions, OptionCheck>> = {
  failureRate: share,
  minimumCalls: count,
  windowMs: duration,
  coolDownMs: duration,
  trialCalls: count,
}

/** The value of each option of a circuit breaker that is left out. */
export const circuitBreakerDefaults: Readonly<Required<CircuitBreakerOptions>> = {
  failureRate: 0.5,
  minimumCalls: 10,
  windowMs: 10_000,
  coolDownMs: 5_000,
  trialCalls: 1,
}

export interface CircuitBreakerParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly onState: (state: CircuitBreakerState) => void
}

/** Stops calls to something that fails most of the time, until a while has passed. */
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

  /** Whether a call would be let through. */
  get isOpen(): boolean {
    return this.state === 'open' || (this.state === 'halfOpen' && this.#trials >= this.#options.trialCalls)
  }

  /** Whether a call may be made; if so, `ended` has to be called. */
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
    // Old ones are dropped now and then, and when there are too many.
    if (this.#calls.length >= maxCalls || this.#calls[0]!.at < now - 2 * windowMs) {
      this.#calls = this.#calls.filter(({ at }) => at >= now - windowMs).slice(-maxCalls / 2)
    }
    if (!failed) return

    const recent = this.#calls.filter(({ at }) => at >= now - windowMs)
    const failures = recent.filter((call) => call.failed).length
    if (recent.length >= minimumCalls && failures >= recent.length * failureRate) this.#become('open')
  }

  #become(state: CircuitBreakerState): void {
    const { clock, logger, onState } = this.#parts
    this.#state = state
    this.#calls = []
    this.#trials = this.#successes = 0
    if (state === 'open') {
      this.#openedAt = clock.monotonic()
      logger.warn('The circuit breaker is open: events are left to the poller for a while.')
    } else if (state === 'closed') {
      logger.info('The circuit breaker is closed: events are sent right after their commits again.')
    }
    onState(state)
  }
}

/** So many calls are remembered at most. */
const maxCalls = 1_000
