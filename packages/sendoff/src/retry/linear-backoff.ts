import { checkOptions, countOrInfinity, duration, durationOrZero } from '../options.ts'
import {
  jitterChecks,
  type JitterOptions,
  retryFilter,
  type RetryPolicy,
  withJitter,
} from './retry-policy.ts'

export interface LinearBackoffOptions extends JitterOptions {
  readonly baseDelayMs?: number
  /** Added after each further failure. */
  readonly stepMs?: number
  readonly maxDelayMs?: number
  readonly maxAttempts?: number
}

/** Waits a little longer after every failure, up to `maxDelayMs`. */
export function linearBackoff(options: LinearBackoffOptions = {}): RetryPolicy {
  checkOptions('linearBackoff', options, {
    baseDelayMs: duration,
    stepMs: durationOrZero,
    maxDelayMs: duration,
    maxAttempts: countOrInfinity,
    ...jitterChecks,
  })
  const {
    baseDelayMs = 2_000,
    stepMs = 2_000,
    maxDelayMs = 60_000,
    maxAttempts,
    jitterMs = 0,
    random = Math.random,
  } = options

  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    shouldRetry: retryFilter(options),
    computeDelayMs: (attempts) =>
      withJitter(Math.min(maxDelayMs, baseDelayMs + stepMs * (attempts - 1)), jitterMs, random),
  }
}
