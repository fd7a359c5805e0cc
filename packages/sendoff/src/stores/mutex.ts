/** Lets one piece of asynchronous work run at a time, in the order in which it was asked for. */
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

  /** Undefined when the lock was free. Whoever has it must give it up with `unlock`. */
  lock(): Promise<void> | undefined {
    if (this.#locked) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#locked = true
    return undefined
  }

  // The lock goes from hand to hand: freeing it in between would let a newcomer in ahead of the queue.
  unlock(): void {
    const next = this.#waiting[this.#served]
    this.#served += 1

    // A queue that never runs empty must not keep those it has served.
    if (next === undefined || this.#served === 1_000) {
      this.#waiting = this.#waiting.slice(this.#served)
      this.#served = 0
    }

    if (next === undefined) this.#locked = false
    else next()
  }
}
