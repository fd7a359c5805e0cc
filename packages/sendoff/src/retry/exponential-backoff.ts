import { callable, checkOptions, countOrInfinity, duration, flag } from '../options.ts'
import { type ErrorFilter, errorFilterChecks, retryFilter, type RetryPolicy } from './retry-policy.ts'

/** Options of `exponentialBackoff`. */
export interface ExponentialBackoffOptions extends ErrorFilter {
  readonly baseDelayMs?: number
  readonly maxDelayMs?: number
  readonly maxAttempts?: number
  /** Whether jitter stays within `maxDelayMs`: true. */
  readonly clampJitter?: boolean
  readonly random?: () => number
}

/** Defaults of `exponentialBackoff`. */
export const exponentialBackoffDefaults = { baseDelayMs: 200, maxDelayMs: 60_000, clampJitter: true }

/**
 * Doubles the wait after every failure, up to `maxDelayMs`. Each wait is drawn between half and one and a
 * half times its step, so that events that failed together do not come back together.
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
