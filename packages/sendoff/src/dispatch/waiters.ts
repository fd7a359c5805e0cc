import type { Clock } from '../clock.ts'

/** Lets code wait until a condition is met. Code that may meet a condition calls `changed`. */
export class Waiters {
  readonly #clock: Clock
  #waiters: { readonly isMet: () => boolean; readonly resolve: () => void }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async until(isMet: () => boolean): Promise<void> {
    if (!isMet()) await new Promise<void>((resolve) => this.#waiters.push({ isMet, resolve }))
  }

  /** Resolves when the condition is met, or after `timeoutMs`. */
  async within(timeoutMs: number, isMet: () => boolean): Promise<void> {
    if (isMet()) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.schedule(timeoutMs, resolve, 'keepAlive')
      void this.until(isMet).then(() => {
        cancel()
        resolve()
      })
    })
  }

  changed(): void {
    if (this.#waiters.length === 0) return
    const met = this.#waiters.filter(({ isMet }) => isMet())
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter))
    met.forEach(({ resolve }) => resolve())
  }
}
