import { percentile } from '../../statistics.ts'
import { arrivalOf, type Schedule } from './open-loop.ts'

/**
 * Records how long after its arrival each event was delivered. Latencies belong to the second in which the
 * event arrived, so that a slow moment shows where it began.
 */
export class SteadyRecord {
  readonly #schedule: Schedule
  readonly #dueAfterMs: (number: number) => number
  readonly #mayRepeat: boolean
  readonly #latencies: number[] = []
  readonly #all = Promise.withResolvers<void>()
  #delivered = 0

  constructor(schedule: Schedule, dueAfterMs: (number: number) => number, mayRepeat: boolean) {
    this.#schedule = schedule
    this.#dueAfterMs = dueAfterMs
    this.#mayRepeat = mayRepeat
  }

  /** Records deliveries: the number of each event and the time of its delivery in turn. */
  delivered(times: readonly number[]): void {
    for (let index = 0; index < times.length; index += 2) this.#add(times[index]!, times[index + 1]!)
  }

  /** Resolves when every event of the schedule was delivered. */
  get all(): Promise<void> {
    return this.#all.promise
  }

  get missing(): number {
    return this.#schedule.count - this.#delivered
  }

  /** Returns the latencies of the events from `first` on. */
  latenciesFrom(first: number): readonly number[] {
    return this.#latencies.slice(first)
  }

  /** Returns a percentile of each second from the event `first` on. */
  percentilesFrom(first: number, share: number): readonly number[] {
    const seconds: number[] = []
    const { rate, count } = this.#schedule
    for (let start = first; start < count; start += rate) {
      seconds.push(percentile(this.#latencies.slice(start, start + rate), share))
    }
    return seconds
  }

  #add(number: number, at: number): void {
    if (this.#latencies[number] !== undefined) {
      if (this.#mayRepeat) return
      throw new Error(`Event ${number} was delivered twice.`)
    }
    this.#latencies[number] = at - arrivalOf(this.#schedule, number) - this.#dueAfterMs(number)
    if (++this.#delivered === this.#schedule.count) this.#all.resolve()
  }
}
