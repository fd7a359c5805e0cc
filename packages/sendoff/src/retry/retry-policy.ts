import { callable, durationOrZero, having } from '../options.ts'

/** Decides whether and when a failed event is tried again. */
export interface RetryPolicy {
  /** How many milliseconds to wait after this many failures. */
  computeDelayMs(attempts: number): number
  /** How many attempts there are in all. Default: the outbox's limit. */
  readonly maxAttempts?: number
  /** Whether another attempt makes sense after this error. Always, if left out. */
  shouldRetry?(error: unknown): boolean
}

/** A class of errors. */
export type ErrorClass = abstract new (...args: never[]) => unknown

/** Options that say which errors are retried. Default: all. */
export interface ErrorFilter {
  /** Only errors of these classes are retried. */
  readonly retryOn?: readonly ErrorClass[]
  /** Errors of these classes are never retried, whatever `retryOn` says. */
  readonly noRetryOn?: readonly ErrorClass[]
}

/** Checks of the options of `ErrorFilter`. */
export const errorFilterChecks = { retryOn: having('some'), noRetryOn: having('some') }

/** Options of policies with jitter. */
export interface JitterOptions extends ErrorFilter {
  /** Makes each wait up to this many milliseconds shorter or longer. Default: 0. */
  readonly jitterMs?: number
  /** Returns a number from 0 to below 1, for the jitter. Default: `Math.random`. */
  readonly random?: () => number
}

/** Defaults of `JitterOptions`. */
export const jitterDefaults = { jitterMs: 0 }

/** Checks of the options of `JitterOptions`. */
export const jitterChecks = { jitterMs: durationOrZero, random: callable, ...errorFilterChecks }

/**
 * Returns a function that says whether an error is worth a retry, by its class and the classes of its causes.
 */
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

/** Returns a random wait, at most `jitterMs` shorter or longer than the given one and never below 0. */
export function withJitter(delayMs: number, jitterMs: number, random: () => number): number {
  return Math.max(0, Math.round(delayMs + jitterMs * (2 * random() - 1)))
}
