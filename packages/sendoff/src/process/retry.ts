import { describeError } from '../describe-error.ts'
import { RetryAfterError, UnrecoverableError } from '../errors.ts'
import type { Processor } from './processor.ts'
import type { RetryPolicy } from './retry-policy.ts'

/** Schedules another attempt while the error is worth one and there are attempts left. */
export function retryProcessor(defaultPolicy: RetryPolicy, maxAttempts: number): Processor {
  return {
    process({ route, error, attempts }) {
      const policy = route.options.retry ?? defaultPolicy
      if (error instanceof UnrecoverableError || policy.shouldRetry?.(error) === false) return undefined
      if (attempts >= (policy.maxAttempts ?? maxAttempts)) return undefined

      const delayMs = error instanceof RetryAfterError ? error.retryAfterMs : policy.computeDelayMs(attempts)
      return { kind: 'retry', delayMs, failure: { error: describeError(error), counted: true } }
    },
  }
}
