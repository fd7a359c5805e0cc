import type { HttpAnswer } from './http-exchange.ts'

/** The receiver replied, but did not accept the event. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError'
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(url: URL, answer: HttpAnswer, remark = answer.text) {
    // Without the query, which may hold secrets that do not belong in the log.
    super(`${url.origin}${url.pathname} answered ${answer.status}${remark === '' ? '' : `: ${remark}`}`)
    this.status = answer.status
    this.retryAfterMs = readRetryAfter(answer.headers['retry-after'], Date.now())
  }
}

/**
 * Why there is no response.
 *
 * - `refused`: a rule forbids the address.
 * - `unreachable`: there was no connection, and nothing was sent.
 * - `broken`: the connection ended, or the reply is not HTTP.
 * - `silent`: no response came in time.
 */
export type NoAnswerReason = 'refused' | 'unreachable' | 'broken' | 'silent'

/** The receiver sent no response. */
export class HttpConnectionError extends Error {
  override readonly name = 'HttpConnectionError'
  readonly reason: NoAnswerReason

  constructor(message: string, reason: NoAnswerReason, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** The batch ended before the request's turn came. Nothing was sent. */
export class HttpUnsentError extends Error {
  override readonly name = 'HttpUnsentError'
}

const shortestRetryAfterMs = 1_000
const longestRetryAfterMs = 86_400_000

/**
 * Returns the wait that the header asks for, as seconds or as a date: at least a second and at most a day.
 */
function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const waitMs = /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  if (Number.isNaN(waitMs)) return undefined
  return Math.min(Math.max(waitMs, shortestRetryAfterMs), longestRetryAfterMs)
}
