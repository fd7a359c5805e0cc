/** Runs one piece of asynchronous work at a time, in the order of the requests. */
export class Mutex {
  #locked = false
  #waiting: (() => void)[] = []
  #served = 0

  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await this.lock()
    try {
      return await work()
    } finally {
      this.unlock()
    }
  }

  /** Returns undefined if the lock was free. The caller that gets it must release it with `unlock`. */
  lock(): Promise<void> | undefined {
    if (this.#locked) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#locked = true
    return undefined
  }

  // The lock passes directly to the next waiter: if it were free in between, a newcomer could overtake the
  // queue.
  unlock(): void {
    const next = this.#waiting[this.#served]
    this.#served += 1

    // A queue that never runs empty must still forget the waiters that it has served.
    if (next === undefined || this.#served === 1_000) {
      this.#waiting = this.#waiting.slice(this.#served)
      this.#served = 0
    }

    if (next === undefined) this.#locked = false
    else next()
  }
}
