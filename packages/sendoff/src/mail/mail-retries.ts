import { countOrInfinity, invalidOption } from '../options.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'
import { retrySchedule } from '../retry/retry-schedule.ts'

const minuteMs = 60_000

/**
 * Default waits: 1 min, 5 min, 15 min, 1 h and 4 h. Greylisting ends after the first, most outages before the
 * last.
 */
export const mailRetryDelaysMs = [1, 5, 15, 60, 240].map((minutes) => minutes * minuteMs) as [
  number,
  ...number[],
]

/** Retry policy with the waits that mail servers expect, and 5 attempts by default. */
export function mailRetries(maxAttempts = 5, delaysMs: readonly number[] = mailRetryDelaysMs): RetryPolicy {
  if (countOrInfinity(maxAttempts) !== undefined) {
    throw invalidOption('mailRetries', 'maxAttempts', maxAttempts, countOrInfinity)
  }
  return { ...retrySchedule(delaysMs), maxAttempts }
}
