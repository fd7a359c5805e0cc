import type { Clock } from '../clock.ts'
import type { Outcome } from '../store/index.ts'
import type { Delivery } from '../delivery/delivery.ts'

/**
 * Successes of listeners whose settlement the store refused.
 *
 * A process that lost its lock and got it back reads the same rows again. It need not run their listeners a
 * second time: it settles the rows with the results that it has.
 */
export class KnownResults {
  readonly #clock: Clock
  readonly #keptMs: number
  readonly #capacity: number
  readonly #results = new Map<string, { readonly outcome: Outcome; readonly until: number }>()

  constructor(clock: Clock, keptMs: number, capacity: number) {
    this.#clock = clock
    this.#keptMs = keptMs
    this.#capacity = capacity
  }

  /**
   * Remembers a success for some time, and forgets the oldest if there are too many. Failures may be
   * repeated.
   */
  add({ rowId }: Delivery, outcome: Outcome): void {
    if (outcome.kind !== 'done' && outcome.kind !== 'delete') return
    this.#results.delete(rowId)
    this.#results.set(rowId, { outcome, until: this.#clock.monotonic() + this.#keptMs })
    if (this.#results.size <= this.#capacity) return
    for (const oldest of this.#results.keys()) {
      this.#results.delete(oldest)
      return
    }
  }

  has(delivery: Delivery): boolean {
    return this.#results.size > 0 && this.#results.has(delivery.rowId)
  }

  /** Removes and returns the result that the listener had for this row before, if it is known. */
  take(delivery: Delivery): Outcome | undefined {
    if (this.#results.size === 0) return undefined
    const known = this.#results.get(delivery.rowId)
    this.#results.delete(delivery.rowId)
    return known !== undefined && this.#clock.monotonic() < known.until ? known.outcome : undefined
  }

  clear(): void {
    this.#results.clear()
  }
}
