import { describeError } from '../describe-error.ts'
import { OutboxError } from '../errors.ts'
import { kindOf } from '../options.ts'
import type { DispatchResult } from '../route/dispatch-result.ts'
import type { ListenerAnswer } from '../route/event-listener.ts'

/**
 * Turns the return value of a batch listener into an answer for each event. Throws if the value does not fit.
 */
export function batchAnswers(returned: unknown, events: number): readonly (ListenerAnswer | Error)[] {
  if (returned === undefined || returned === null) return Array<void>(events).fill(undefined)
  if (!Array.isArray(returned)) throw unfit(returned)
  if (returned.length !== events) {
    throw new RangeError(`onEvents() answered for ${returned.length} of ${events} events.`)
  }
  return returned.map(answerFrom)
}

function answerFrom(answer: unknown): ListenerAnswer | Error {
  try {
    if (answer === undefined || answer === null) return undefined
    if (answer instanceof Error || isDispatchResult(answer)) return answer
    return isSettled(answer) ? settledAnswer(answer) : unfit(answer)
  } catch (error) {
    return asError(error)
  }
}

const kinds: readonly unknown[] = ['done', 'retryAfter', 'dead'] satisfies DispatchResult['kind'][]

function isDispatchResult(answer: unknown): answer is DispatchResult {
  return kinds.includes((answer as { readonly kind?: unknown }).kind)
}

function isSettled(answer: unknown): answer is PromiseSettledResult<unknown> {
  const { status } = answer as { readonly status?: unknown }
  return status === 'fulfilled' || status === 'rejected'
}

// A fulfilled value counts as success, unless it is an answer itself.
function settledAnswer(settled: PromiseSettledResult<unknown>): ListenerAnswer | Error {
  if (settled.status === 'rejected') return asError(settled.reason)
  const { value } = settled
  return typeof value === 'object' && value !== null && isDispatchResult(value) ? value : undefined
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(describeError(error))
}

function unfit(answer: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_ANSWER',
    `onEvents() has to return nothing, or a list with an answer for each event: nothing, a DispatchResult, an Error, or a result of Promise.allSettled(). It returned ${kindOf(answer)}.`,
  )
}
