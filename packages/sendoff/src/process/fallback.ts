import { describeError } from '../describe-error.ts'
import type { Fallback } from '../route/fallback.ts'
import type { Processor } from './processor.ts'

/**
 * Calls the fallback, if there is one. If it succeeds, the event is DONE, and its failure stays in the
 * history.
 */
export const fallback: Processor = {
  async process(failed) {
    const { event, route, error, attempts, counted, reason = 'exhausted' } = failed
    const callFallback = route.options.fallback as Fallback | undefined
    if (callFallback === undefined) return failed
    try {
      await callFallback(event, { attempts, lastError: error, reason })
      return { kind: 'done', failure: { error: describeError(error), counted } }
    } catch (fallbackError) {
      return { ...failed, error: new FallbackError(error, fallbackError) }
    }
  },
}

/** The error for a listener that failed together with its fallback. */
class FallbackError extends Error {
  constructor(error: unknown, fallbackError: unknown) {
    super(`${describeError(error)}; and the fallback failed: ${describeError(fallbackError)}`)
    this.name = error instanceof Error ? error.name : 'Error'
  }
}
