import { noPending, type PendingSource } from './pending-source.ts'

/** The part of a circuit breaker that a source asks. */
export interface Breaker {
  readonly isOpen: boolean
  /** How many calls it lets through now. */
  readonly allowedCalls: number
}

/**
 * Fetches only while this process can deliver to a destination: it has a listener, and the breaker is not
 * open. While the breaker tries whether the destination works again, fetches no more than it tries.
 */
export function openSource(
  source: PendingSource,
  hasListener: () => boolean,
  breaker: Breaker | undefined,
): PendingSource {
  return {
    fetch: async (limit, hasNews) => {
      if (!hasListener() || breaker?.isOpen === true) return noPending
      return source.fetch(Math.min(limit, breaker?.allowedCalls ?? limit), hasNews)
    },
    ...(source.startOver && { startOver: () => source.startOver!() }),
    ...(source.drained && { drained: async (error?: unknown) => source.drained!(error) }),
    ...(source.forgetWaiting && { forgetWaiting: () => source.forgetWaiting!() }),
  }
}
