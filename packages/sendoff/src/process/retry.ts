import { describeError } from '../describe-error.ts'
import { RetryAfterError, UnrecoverableError } from '../errors.ts'
import type { Processor } from './processor.ts'
import type { RetryPolicy } from './retry-policy.ts'

export interface RetryProcessorOptions {
  readonly retryPolicy: RetryPolicy
  /** Policies by event type; a listener's own comes before them. */
  readonly retryPolicyByType: Readonly<Record<string, RetryPolicy>>
  readonly maxAttempts: number
}

/** Schedules another attempt while the error is worth one and there are attempts left. */
export function retryProcessor({
  retryPolicy,
  retryPolicyByType,
  maxAttempts,
}: RetryProcessorOptions): Processor {
  return {
    process(failed) {
      const { route, error, attempts, event } = failed
      const policy = route.options.retry ?? retryPolicyByType[event.eventType] ?? retryPolicy
      if (error instanceof UnrecoverableError || policy.shouldRetry?.(error) === false) {
        return { ...failed, reason: 'notRetryable' }
      }
      if (attempts >= (policy.maxAttempts ?? maxAttempts)) return { ...failed, reason: 'exhausted' }

      const delayMs = error instanceof RetryAfterError ? error.retryAfterMs : policy.computeDelayMs(attempts)
      return { kind: 'retry', delayMs, failure: { error: describeError(error), counted: true } }
    },
  }
}
