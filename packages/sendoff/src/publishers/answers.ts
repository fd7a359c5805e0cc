import { OutboxError } from '../errors.ts'

/**
 * The answers that one batch waits for. None is waited for longer than its time, and none at all any
 * more when the batch is broken off; the work behind them may still go on.
 *
 * One timer and one listener serve all of them: with one of each for every message, waiting would cost
 * more than sending.
 */
export class Answers {
  readonly #name: string
  readonly #signal: AbortSignal
  // In the order of their deadlines, as all have the same time.
  readonly #waiting = new Set<Waiting>()
  readonly #onAbort = (): void => this.#rejectAll()
  #timer: NodeJS.Timeout | undefined

  constructor(name: string, signal: AbortSignal) {
    this.#name = name
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  /** As the answer, or rejected after `timeoutMs`, which has to be the same for all. */
  within<Answer>(timeoutMs: number, answer: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { deadline: performance.now() + timeoutMs, timeoutMs, reject }
      this.#waiting.add(waiting)
      if (this.#timer === undefined) this.#watch(timeoutMs)
      if (this.#signal.aborted) this.#rejectAll()
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

  /** Nobody waits any more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #watch(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const now = performance.now()
      for (const waiting of this.#waiting) {
        // A timer may be early by less than a millisecond.
        const leftMs = waiting.deadline - now
        if (leftMs > 1) return this.#watch(leftMs)
        this.#waiting.delete(waiting)
        waiting.reject(silent(this.#name, waiting.timeoutMs))
      }
    }, ms)
  }

  #rejectAll(): void {
    for (const { reject } of this.#waiting) reject(this.#signal.reason as Error)
    this.#waiting.clear()
  }
}

interface Waiting {
  readonly deadline: number
  readonly timeoutMs: number
  readonly reject: (error: Error) => void
}

function silent(name: string, timeoutMs: number): OutboxError {
  return new OutboxError('OUTBOX_BROKER_SILENT', `${name} did not answer within ${timeoutMs} ms.`)
}

/** Whether an error says that there was no answer in time. */
export function isSilence(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_BROKER_SILENT'
}
