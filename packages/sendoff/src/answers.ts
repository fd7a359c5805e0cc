/** Options of `inTime`. */
export interface InTimeOptions {
  /** Ends the wait early. The wait rejects with its reason then. */
  readonly signal?: AbortSignal | undefined
  /** Makes the error of an answer that comes too late. */
  readonly tooLate?: (timeoutMs: number) => Error
}

/**
 * Waits for the answer to a call, no longer than `timeoutMs`, and not at all after an abort. The call gets a
 * signal that aborts at the end of the wait. It may still go on: few clients can be stopped.
 */
export async function inTime<Answer>(
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<Answer>,
  { signal, tooLate = noAnswer }: InTimeOptions = {},
): Promise<Answer> {
  signal?.throwIfAborted()
  const limit = new AbortController()
  const giveUp = (): Error => {
    const error = tooLate(timeoutMs)
    limit.abort(error)
    return error
  }
  const answers = new Answers(giveUp, signal)
  try {
    const both = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])
    return await answers.within(timeoutMs, call(both))
  } finally {
    answers.end()
  }
}

/**
 * Waits for many answers, each no longer than a time limit, and for none after an abort.
 *
 * One timer and one abort listener serve all of them. With one of each per message, waiting would cost more
 * than sending.
 */
export class Answers {
  readonly #tooLate: (timeoutMs: number) => Error
  readonly #signal: AbortSignal | undefined
  // In the order of their deadlines, because all have the same time limit.
  readonly #waiting = new Set<Waiting>()
  readonly #onAbort = (): void => this.#rejectAll()
  #timer: NodeJS.Timeout | undefined

  constructor(tooLate: (timeoutMs: number) => Error, signal?: AbortSignal) {
    this.#tooLate = tooLate
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort)
  }

  /** Settles as `answer` does, or rejects after `timeoutMs`, which has to be the same for all calls. */
  within<Answer>(timeoutMs: number, answer: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { deadline: performance.now() + timeoutMs, timeoutMs, reject }
      this.#waiting.add(waiting)
      if (this.#timer === undefined) this.#watch(timeoutMs)
      if (this.#signal?.aborted === true) this.#rejectAll()
      const ended = (): boolean => this.#waiting.delete(waiting)
      answer.then(
        (value) => {
          ended()
          resolve(value)
        },
        (error: unknown) => {
          ended()
          reject(error)
        },
      )
    })
  }

  /** Stops waiting: ends the timer and the abort listener. */
  end(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  #watch(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const now = performance.now()
      for (const waiting of this.#waiting) {
        // A timer may fire early by less than a millisecond.
        const leftMs = waiting.deadline - now
        if (leftMs > 1) return this.#watch(leftMs)
        this.#waiting.delete(waiting)
        waiting.reject(this.#tooLate(waiting.timeoutMs))
      }
    }, ms)
  }

  #rejectAll(): void {
    for (const { reject } of this.#waiting) reject(this.#signal?.reason as Error)
    this.#waiting.clear()
  }
}

interface Waiting {
  readonly deadline: number
  readonly timeoutMs: number
  readonly reject: (error: Error) => void
}

function noAnswer(timeoutMs: number): Error {
  return new Error(`There was no answer within ${timeoutMs} ms.`)
}
