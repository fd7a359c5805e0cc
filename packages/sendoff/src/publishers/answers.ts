import { OutboxError } from '../errors.ts'

/**
 * The replies that one batch waits for. It waits for each no longer than the time limit, and not at all after
 * an abort. The client may still continue its work.
 *
 * One timer and one abort listener serve all replies. With one of each per message, waiting would cost more
 * than sending.
 */
export class Answers {
  readonly #name: string
  readonly #signal: AbortSignal
  // In the order of their deadlines, because all have the same time limit.
  readonly #waiting = new Set<Waiting>()
  readonly #onAbort = (): void => this.#rejectAll()
  #timer: NodeJS.Timeout | undefined

  constructor(name: string, signal: AbortSignal) {
    this.#name = name
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  /** Settles as `answer` does, or rejects after `timeoutMs`, which has to be the same for all calls. */
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

  /** Stops waiting: ends the timer and the abort listener. */
  end(): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
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

/** Returns whether an error means that no reply came in time. */
export function isSilence(error: unknown): boolean {
  return error instanceof OutboxError && error.code === 'OUTBOX_BROKER_SILENT'
}
