/** Limits how many handlers run at a time. Further ones wait, in the order in which they came. */
export class Places {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Takes a place, at once or when one is free. */
  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Lets all go on that wait, without a place. */
  dismiss(): void {
    for (const next of this.#waiting.splice(0)) next()
  }

  /** Gives a place back, to the one that has waited longest. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
