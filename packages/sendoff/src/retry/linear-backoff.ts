import { checkOptions, countOrInfinity, duration, durationOrZero } from '../options.ts'
import {
  jitterChecks,
  jitterDefaults,
  type JitterOptions,
  retryFilter,
  type RetryPolicy,
  withJitter,
} from './retry-policy.ts'

/** Options of `linearBackoff`. */
export interface LinearBackoffOptions extends JitterOptions {
  /** The wait after the first failure, in milliseconds. Default: 2,000. */
  readonly baseDelayMs?: number
  /** Added to the wait after each further failure, in milliseconds. Default: 2,000. */
  readonly stepMs?: number
  /** The longest wait before jitter, in milliseconds. Default: 60,000. */
  readonly maxDelayMs?: number
  /** How many attempts there are in all. Default: the limit of the outbox. */
  readonly maxAttempts?: number
}

/** Defaults of `linearBackoff`. */
export const linearBackoffDefaults = {
  ...jitterDefaults,
  baseDelayMs: 2_000,
  stepMs: 2_000,
  maxDelayMs: 60_000,
}

/** Adds `stepMs` to the wait after every failure, up to `maxDelayMs`. */
export function linearBackoff(options: LinearBackoffOptions = {}): RetryPolicy {
  checkOptions('linearBackoff', options, {
    baseDelayMs: duration,
    stepMs: durationOrZero,
    maxDelayMs: duration,
    maxAttempts: countOrInfinity,
    ...jitterChecks,
  })
  const {
    baseDelayMs = linearBackoffDefaults.baseDelayMs,
    stepMs = linearBackoffDefaults.stepMs,
    maxDelayMs = linearBackoffDefaults.maxDelayMs,
    maxAttempts,
    jitterMs = jitterDefaults.jitterMs,
    random = Math.random,
  } = options

  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    shouldRetry: retryFilter(options),
    computeDelayMs: (attempts) =>
      withJitter(Math.min(maxDelayMs, baseDelayMs + stepMs * (attempts - 1)), jitterMs, random),
  }
}
