import { checkOptions, countOrInfinity, duration, invalidOption } from '../options.ts'
import {
  jitterChecks,
  jitterDefaults,
  type JitterOptions,
  retryFilter,
  type RetryPolicy,
  withJitter,
} from './retry-policy.ts'

/** Options of `fixedDelay`. */
export interface FixedDelayOptions extends JitterOptions {
  /** How many attempts there are in all. Default: the limit of the outbox. */
  readonly maxAttempts?: number
}

/** Waits the same number of milliseconds after every failure. */
export function fixedDelay(delayMs: number, options: FixedDelayOptions = {}): RetryPolicy {
  if (duration(delayMs) !== undefined) throw invalidOption('fixedDelay', 'delayMs', delayMs, duration)
  checkOptions('fixedDelay', options, {
    maxAttempts: countOrInfinity,
    ...jitterChecks,
  })
  const { maxAttempts, jitterMs = jitterDefaults.jitterMs, random = Math.random } = options

  return {
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    shouldRetry: retryFilter(options),
    computeDelayMs: () => withJitter(delayMs, jitterMs, random),
  }
}
