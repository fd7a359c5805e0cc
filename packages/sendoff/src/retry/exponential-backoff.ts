import { callable, checkOptions, countOrInfinity, duration, flag } from '../options.ts'
import { type ErrorFilter, errorFilterChecks, retryFilter, type RetryPolicy } from './retry-policy.ts'

/** Options of `exponentialBackoff`. */
export interface ExponentialBackoffOptions extends ErrorFilter {
  /** The wait after the first failure, in milliseconds. Default: 200. */
  readonly baseDelayMs?: number
  /** The longest wait, in milliseconds. Default: 60,000. */
  readonly maxDelayMs?: number
  /** How many attempts there are in all. Default: the limit of the outbox. */
  readonly maxAttempts?: number
  /** Whether jitter stays within `maxDelayMs`. Default: true. */
  readonly clampJitter?: boolean
  /** Returns a number from 0 to below 1, for the jitter. Default: `Math.random`. */
  readonly random?: () => number
}

/** Defaults of `exponentialBackoff`. */
export const exponentialBackoffDefaults = { baseDelayMs: 200, maxDelayMs: 60_000, clampJitter: true }

/**
 * Doubles the wait after every failure, up to `maxDelayMs`. Each wait is a random one between 0.5 and 1.5
 * times its step, so that events that failed together do not come back together.
 */
export function exponentialBackoff(options: ExponentialBackoffOptions = {}): RetryPolicy {
  checkOptions('exponentialBackoff', options, {
    baseDelayMs: duration,
    maxDelayMs: duration,
    maxAttempts: countOrInfinity,
    clampJitter: flag,
    random: callable,
    ...errorFilterChecks,
  })
  const {
    baseDelayMs = exponentialBackoffDefaults.baseDelayMs,
    maxDelayMs = exponentialBackoffDefaults.maxDelayMs,
    maxAttempts,
    clampJitter = exponentialBackoffDefaults.clampJitter,
    random = Math.random,
  } = options

  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    shouldRetry: retryFilter(options),

    computeDelayMs(attempts) {
      const stepMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1))
      const delayMs = Math.round(stepMs * (0.5 + random()))
      return clampJitter ? Math.min(maxDelayMs, delayMs) : delayMs
    },
  }
}
