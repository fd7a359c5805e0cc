import { callable, durationOrZero, having } from '../options.ts'

/** Decides whether and when a failed event is tried again. */
export interface RetryPolicy {
  /** How long to wait after so many failures. */
  computeDelayMs(attempts: number): number
  /** How many attempts there are in all; the outbox's own limit where left out. */
  readonly maxAttempts?: number
  /** Whether another attempt makes sense after this error. Always, where left out. */
  shouldRetry?(error: unknown): boolean
}

export type ErrorClass = abstract new (...args: never[]) => unknown

export interface ErrorFilter {
  /** Only these are retried. */
  readonly retryOn?: readonly ErrorClass[]
  /** These are never retried, whatever `retryOn` says. */
  readonly noRetryOn?: readonly ErrorClass[]
}

export const errorFilterChecks = { retryOn: having('some'), noRetryOn: having('some') }

export interface JitterOptions extends ErrorFilter {
  /** Each wait is up to so much shorter or longer. */
  readonly jitterMs?: number
  readonly random?: () => number
}

/** The jitter of a policy whose options name none. */
export const jitterDefaults = { jitterMs: 0 }

export const jitterChecks = { jitterMs: durationOrZero, random: callable, ...errorFilterChecks }

/** Whether an error is worth a retry, judged by its class and those of all its causes. */
export function retryFilter({ retryOn, noRetryOn = [] }: ErrorFilter): (error: unknown) => boolean {
  return (error) => {
    const causes = causesOf(error)
    if (causes.some((cause) => isOneOf(cause, noRetryOn))) return false
    return retryOn === undefined || causes.some((cause) => isOneOf(cause, retryOn))
  }
}

function causesOf(error: unknown): readonly unknown[] {
  const causes = new Set<unknown>()
  for (let current = error; current !== undefined && !causes.has(current);) {
    causes.add(current)
    current = current instanceof Error ? current.cause : undefined
  }
  return [...causes]
}

function isOneOf(error: unknown, classes: readonly ErrorClass[]): boolean {
  return classes.some((errorClass) => error instanceof errorClass)
}

/** A wait drawn evenly from `jitterMs` around the given one, never below 0. */
export function withJitter(delayMs: number, jitterMs: number, random: () => number): number {
  return Math.max(0, Math.round(delayMs + jitterMs * (2 * random() - 1)))
}
