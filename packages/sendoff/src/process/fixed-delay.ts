import { duration, invalidOption } from '../options.ts'
import { linearBackoff, type LinearBackoffOptions } from './linear-backoff.ts'
import type { RetryPolicy } from './retry-policy.ts'

export type FixedDelayOptions = Omit<LinearBackoffOptions, 'baseDelayMs' | 'stepMs' | 'maxDelayMs'>

/** Waits the same time after every failure. */
export function fixedDelay(delayMs: number, options: FixedDelayOptions = {}): RetryPolicy {
  if (duration(delayMs) !== undefined) throw invalidOption('fixedDelay', 'delayMs', delayMs, duration)
  return linearBackoff({ ...options, baseDelayMs: delayMs, stepMs: 0, maxDelayMs: delayMs })
}
