import { callable, checkOptions, count, duration, durationOrZero, invalidOption } from '../options.ts'
import {
  type ErrorFilter,
  errorFilterChecks,
  retryFilter,
  type RetryPolicy,
  withJitter,
} from './retry-policy.ts'

export interface FixedDelayOptions extends ErrorFilter {
  readonly maxAttempts?: number
  /** Each wait is up to so much shorter or longer. */
  readonly jitterMs?: number
  readonly random?: () => number
}

/** Waits the same time after every failure. */
export function fixedDelay(delayMs: number, options: FixedDelayOptions = {}): RetryPolicy {
  if (duration(delayMs) !== undefined) throw invalidOption('fixedDelay', 'delayMs', delayMs, duration)
  checkOptions('fixedDelay', options, {
    maxAttempts: count,
    jitterMs: durationOrZero,
    random: callable,
    ...errorFilterChecks,
  })
  const { maxAttempts, jitterMs = 0, random = Math.random } = options

  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    shouldRetry: retryFilter(options),
    computeDelayMs: () => withJitter(delayMs, jitterMs, random),
  }
}
