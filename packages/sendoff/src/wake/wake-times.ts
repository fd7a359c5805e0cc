const stepMs = 10
const maxTimes = 1_000

/**
 * Moments at which something is known to fall due, such as a retry of this process's own.
 *
 * A hint, not a record: moments are rounded up and the latest are dropped when there are too
 * many. The regular poll finds whatever was forgotten.
 */
export class WakeTimes {
  #times: number[] = []

  get next(): number | undefined {
    return this.#times[0]
  }

  add(time: number): void {
    const rounded = Math.ceil(time / stepMs) * stepMs
    const index = this.#placeOf(rounded)
    if (this.#times[index] === rounded) return
    this.#times.splice(index, 0, rounded)
    if (this.#times.length > maxTimes) this.#times.pop()
  }

  /** Forgets what has passed, and nothing that is still to come: timers may fire early. Answers whether there was something. */
  passed(now: number): boolean {
    return this.#times.splice(0, this.#placeOf(Math.floor(now) + 1)).length > 0
  }

  #placeOf(time: number): number {
    let low = 0
    let high = this.#times.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#times[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }
}
