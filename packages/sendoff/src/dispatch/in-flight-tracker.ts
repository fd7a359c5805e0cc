import type { Delivery } from './delivery.ts'

/**
 * What this process has in its hands, by row.
 *
 * A row enters when it is queued. It leaves only after every poll that began before its settlement
 * was acknowledged has returned: such a poll may still bring the row as it was before, and would
 * have it delivered twice.
 */
export class InFlightTracker {
  readonly #deliveries = new Map<string, Delivery>()
  readonly #runningPolls = new Set<number>()
  readonly #leaving: { readonly delivery: Delivery; readonly lastPoll: number }[] = []
  #lastPoll = 0

  get size(): number {
    return this.#deliveries.size
  }

  get(key: string): Delivery | undefined {
    return this.#deliveries.get(key)
  }

  values(): Iterable<Delivery> {
    return this.#deliveries.values()
  }

  /** What was read under a lock, without a claim, and is not settled. */
  unclaimed(): Delivery[] {
    return [...this.#deliveries.values()].filter(({ lock, settled }) => lock !== undefined && !settled)
  }

  /** Returns false, and changes nothing, when the row is here already. */
  tryAcquire(delivery: Delivery): boolean {
    if (this.#deliveries.has(delivery.key)) return false
    this.#deliveries.set(delivery.key, delivery)
    return true
  }

  release(delivery: Delivery): void {
    delivery.settled = true
    if (this.#runningPolls.size === 0) this.#deliveries.delete(delivery.key)
    else this.#leaving.push({ delivery, lastPoll: this.#lastPoll })
  }

  /** Marks the beginning of a poll, and returns the function that marks its end. */
  pollBegins(): () => void {
    const poll = ++this.#lastPoll
    this.#runningPolls.add(poll)
    return () => this.#pollEnds(poll)
  }

  #pollEnds(poll: number): void {
    this.#runningPolls.delete(poll)
    const oldestRunning = Math.min(...this.#runningPolls)
    let gone = 0
    for (const { delivery, lastPoll } of this.#leaving) {
      if (lastPoll >= oldestRunning) break
      this.#deliveries.delete(delivery.key)
      gone++
    }
    this.#leaving.splice(0, gone)
  }
}
