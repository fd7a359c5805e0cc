/** Lets code wait until something is true, asked again whenever it may have become so. */
export class Waiters {
  #waiters: { readonly isMet: () => boolean; readonly resolve: () => void }[] = []

  async until(isMet: () => boolean): Promise<void> {
    if (!isMet()) await new Promise<void>((resolve) => this.#waiters.push({ isMet, resolve }))
  }

  /** To be called after every change that could meet a condition. */
  changed(): void {
    if (this.#waiters.length === 0) return
    const met = this.#waiters.filter(({ isMet }) => isMet())
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter))
    met.forEach(({ resolve }) => resolve())
  }
}
