import { describeError } from '../describe-error.ts'
import { RetryAfterError, UnrecoverableError } from '../errors.ts'
import { boundedDelayMs } from '../event/delay.ts'
import type { Logger } from '../observe/logger.ts'
import { durationOrZero } from '../options.ts'
import type { Route } from '../route/listener-registry.ts'
import { exponentialBackoff } from '../retry/exponential-backoff.ts'
import type { Processor } from './processor.ts'
import type { RetryPolicy } from '../retry/retry-policy.ts'

/** Options of `retryProcessor`. */
export interface RetryProcessorOptions {
  readonly retryPolicy: RetryPolicy
  /** Policies by event type. A listener's own policy comes before them. */
  readonly retryPolicyByType: Readonly<Record<string, RetryPolicy>>
  readonly maxAttempts: number
  readonly logger: Logger
}

/**
 * Returns a function that finds the policy of an event: its listener's own, that of its type, or the default.
 */
export function retryPolicies({
  retryPolicy,
  retryPolicyByType,
}: Pick<RetryProcessorOptions, 'retryPolicy' | 'retryPolicyByType'>): (
  eventType: string,
  route?: Route,
) => RetryPolicy {
  const byType = new Map(Object.entries(retryPolicyByType))
  return (eventType, route) =>
    route?.options.retry ?? byType.get(route?.definition?.name ?? eventType) ?? retryPolicy
}

/** The stage that schedules another attempt, if the error is worth one and there are attempts left. */
export function retryProcessor(options: RetryProcessorOptions): Processor {
  const { maxAttempts, logger } = options
  const policyFor = retryPolicies(options)

  return {
    process(failed) {
      const { route, error, attempts, event } = failed
      const policy = policyFor(event.eventType, route)
      if (error instanceof UnrecoverableError || !isWorthARetry(policy, error, logger)) {
        return { ...failed, reason: 'notRetryable' }
      }
      if (attempts >= (policy.maxAttempts ?? maxAttempts)) return { ...failed, reason: 'exhausted' }

      const wanted =
        error instanceof RetryAfterError ? () => error.retryAfterMs : () => policy.computeDelayMs(attempts)
      const delayMs = soundDelay(wanted, attempts, logger)
      return { kind: 'retry', delayMs, failure: { error: describeError(error), counted: true } }
    },
  }
}

// A broken policy is no reason to give an event up.
function isWorthARetry(policy: RetryPolicy, error: unknown, logger: Logger): boolean {
  try {
    return policy.shouldRetry?.(error) !== false
  } catch (failure) {
    logger.error(
      `shouldRetry() of a retry policy failed; the event is tried again. ${describeError(failure)}`,
    )
    return true
  }
}

const instead = exponentialBackoff()

// A delay that is not a number would break the store's statement.
function soundDelay(compute: () => number, attempts: number, logger: Logger): number {
  try {
    const delayMs = compute()
    if (durationOrZero(delayMs) === undefined) return boundedDelayMs(delayMs)
    logger.error(`A retry policy returned ${delayMs} instead of a delay; the default backoff is used.`)
  } catch (error) {
    logger.error(`A retry policy failed; the default backoff is used. ${describeError(error)}`)
  }
  return instead.computeDelayMs(attempts)
}
