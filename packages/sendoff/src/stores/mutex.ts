/** Lets one piece of asynchronous work run at a time, in the order in which it was asked for. */
export class Mutex {
  #locked = false
  #waiting: (() => void)[] = []
  #served = 0

  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    if (this.#locked) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#locked = true

    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  // The lock goes from hand to hand: freeing it in between would let a newcomer in ahead of the queue.
  #passOn(): void {
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
