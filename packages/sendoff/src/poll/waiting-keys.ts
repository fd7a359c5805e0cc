import type { Clock } from '../clock.ts'
import { nameOfLane } from '../delivery/lane-key.ts'

/**
 * After this many milliseconds, the source reads a key again: an operator may have decided about it
 * meanwhile.
 */
const longestMs = 5_000

/** How many keys are remembered at most, so that memory stays bounded. Each scan finds the others again. */
const most = 1_000

/** Keys whose first row has to wait. Scans skip the rows behind it. */
export class WaitingKeys {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(laneKey: string, waitMs: number): void {
    const name = nameOfLane(laneKey)
    this.#until.delete(name)
    this.#until.set(name, this.#clock.monotonic() + Math.min(waitMs, longestMs))
    if (this.#until.size <= most) return
    const [oldest] = this.#until.keys()
    this.#until.delete(oldest!)
  }

  clear(): void {
    this.#until.clear()
  }

  /** The keys that still have to wait. */
  get names(): readonly string[] {
    const now = this.#clock.monotonic()
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name)
    return [...this.#until.keys()]
  }
}
