const usualStepMs = 10
const maxTimes = 1_000

/**
 * Moments at which rows are known to fall due, such as retries of this process.
 *
 * They are a hint, not a record. They are rounded up, and the latest are dropped if there are too many. The
 * regular poll finds the forgotten rows.
 */
export class WakeTimes {
  #times: number[] = []

  get next(): number | undefined {
    return this.#times[0]
  }

  add(time: number, stepMs = usualStepMs): void {
    const rounded = Math.ceil(time / stepMs) * stepMs
    const index = this.#placeOf(rounded)
    if (this.#times[index] === rounded) return
    this.#times.splice(index, 0, rounded)
    if (this.#times.length > maxTimes) this.#times.pop()
  }

  /**
   * Removes the moments that have passed, and no others: timers may fire early. Returns whether there were
   * any.
   */
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
