import { checkOptions, durationOrZero, invalidOption, type OptionCheck } from '../options.ts'
import {
  jitterChecks,
  jitterDefaults,
  type JitterOptions,
  retryFilter,
  type RetryPolicy,
  withJitter,
} from './retry-policy.ts'

/** Options of `retrySchedule`. */
export type RetryScheduleOptions = JitterOptions

const waits: OptionCheck = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((wait) => durationOrZero(wait) === undefined)
    ? undefined
    : 'a list of waits in milliseconds'

/**
 * Waits as listed, in milliseconds: the first wait follows the first failure. Gives up when the list is used
 * up, so there is one attempt more than there are waits.
 */
export function retrySchedule(delaysMs: readonly number[], options: RetryScheduleOptions = {}): RetryPolicy {
  if (waits(delaysMs) !== undefined) throw invalidOption('retrySchedule', 'delaysMs', delaysMs, waits)
  checkOptions('retrySchedule', options, jitterChecks)
  const { jitterMs = jitterDefaults.jitterMs, random = Math.random } = options

  return {
    maxAttempts: delaysMs.length + 1,
    shouldRetry: retryFilter(options),
    computeDelayMs: (attempts) =>
      withJitter(delaysMs[Math.min(attempts, delaysMs.length) - 1]!, jitterMs, random),
  }
}
