import type { Clock } from '../clock.ts'

/** Spreads work evenly over time: so much per second, whatever each piece takes. */
export class Pace {
  readonly #clock: Clock
  readonly #ratePerSecond: number
  #nextAt: number

  /** With `debt`, the first piece waits as if so much had just been done. */
  constructor(clock: Clock, ratePerSecond: number, debt = 0) {
    this.#clock = clock
    this.#ratePerSecond = ratePerSecond
    this.#nextAt = clock.monotonic() + this.#msOf(debt)
  }

  /** Counts work that was done. */
  add(count: number): void {
    this.#nextAt += this.#msOf(count)
  }

  /** Resolves when the next piece may begin, or at once when `signal` aborts. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    const ms = this.#nextAt - this.#clock.monotonic()
    if (ms <= 0 || signal?.aborted) return
    const over = Promise.withResolvers<void>()
    const end = (): void => over.resolve()
    const cancel = this.#clock.schedule(ms, end, 'keepAlive')
    signal?.addEventListener('abort', end, { once: true })
    await over.promise
    signal?.removeEventListener('abort', end)
    cancel()
  }

  #msOf(count: number): number {
    return Number.isFinite(this.#ratePerSecond) ? (count / this.#ratePerSecond) * 1_000 : 0
  }
}
