import { type Clock, systemClock } from '../clock.ts'
import { checkOptions, duration, having } from '../options.ts'
import { Delivery } from './delivery.ts'

/** Options of `InFlightTracker`. */
export interface InFlightTrackerOptions {
  /**
   * If a delivery has lost its lease or lock, this process may deliver its row again this many milliseconds
   * after the lost delivery was queued. Default: only after its listener has returned. While a delivery holds
   * its row, there is no second one.
   */
  readonly ttlMs?: number
  /** Measures `ttlMs`. Default: the clock of the machine. */
  readonly clock?: Clock
}

/**
 * The deliveries that this process holds, by row.
 *
 * A row enters when it is queued. It leaves only after every poll has returned that began before its
 * settlement was acknowledged. Such a poll may still return the row as it was before, and the row would be
 * delivered twice.
 */
export class InFlightTracker {
  readonly #deliveries = new Map<string, Delivery>()
  /** Rows that this process is claiming by row id, each with the delivery that a poll has returned since. */
  readonly #awaited = new Map<string, Delivery | undefined>()
  readonly #runningPolls = new Set<number>()
  #onPollEnd: (() => void)[] = []
  readonly #leaving: { readonly delivery: Delivery; readonly lastPoll: number }[] = []
  readonly #ttlMs: number
  readonly #clock: Clock
  /** When each row came in; recorded only if there is a time limit. */
  readonly #since = new Map<string, number>()
  #lastPoll = 0

  constructor(options: InFlightTrackerOptions = {}) {
    checkOptions('InFlightTracker', options, { ttlMs: duration, clock: having('monotonic') })
    this.#ttlMs = options.ttlMs ?? Infinity
    this.#clock = options.clock ?? systemClock
  }

  get size(): number {
    return this.#deliveries.size
  }

  get(key: string): Delivery | undefined {
    return this.#deliveries.get(key)
  }

  values(): Iterable<Delivery> {
    return this.#deliveries.values()
  }

  /** The unsettled deliveries of rows that were read under a lock, without a claim. */
  unclaimed(): Delivery[] {
    return [...this.#deliveries.values()].filter(({ lock, ended }) => lock !== undefined && !ended)
  }

  /**
   * Announces a claim of this row by its row id. Until `claimed` is called, a poll that returns the row does
   * not deliver it. If this process claims a row twice, only the later claim is valid. Returns false if this
   * process holds the row already.
   */
  await(key: string): boolean {
    if (this.#deliveries.has(key) || this.#awaited.has(key)) return false
    this.#awaited.set(key, undefined)
    return true
  }

  /** Keeps a delivery that a poll returned, if its row is awaited. Returns false otherwise. */
  keepAwaited(delivery: Delivery): boolean {
    if (this.#awaited.size === 0 || !this.#awaited.has(delivery.rowId)) return false
    // We drop a row that was read without a claim: the claim under way returns it, too.
    if (delivery.lock === undefined) this.#awaited.set(delivery.rowId, delivery)
    delivery.ended = true
    return true
  }

  /**
   * Ends what `await` began. Returns the later of the two claims, or undefined if neither has found the row.
   */
  claimed(key: string, delivery: Delivery | undefined): Delivery | undefined {
    const polled = this.#awaited.get(key)
    this.#awaited.delete(key)
    if (polled === undefined || polled.deliveries < (delivery?.deliveries ?? 0)) return delivery
    return new Delivery(polled.row, 'hot', { validUntil: polled.leaseUntil })
  }

  /** Adds a delivery. Returns false, and changes nothing, if this process holds the row already. */
  tryAcquire(delivery: Delivery): boolean {
    const { rowId } = delivery
    const present = this.#deliveries.get(rowId)
    if (present !== undefined) {
      if (!this.#isOver(present)) return false
      present.isTracked = false
    }
    delivery.isTracked = true
    this.#deliveries.set(rowId, delivery)
    if (this.#ttlMs !== Infinity) this.#since.set(rowId, this.#clock.monotonic())
    return true
  }

  #isOver({ rowId, isLost, ended }: Delivery): boolean {
    return isLost && !ended && this.#clock.monotonic() >= (this.#since.get(rowId) ?? Infinity) + this.#ttlMs
  }

  release(delivery: Delivery): void {
    delivery.ended = true
    if (this.#runningPolls.size === 0) this.#remove(delivery)
    else this.#leaving.push({ delivery, lastPoll: this.#lastPoll })
  }

  /** Marks the beginning of a poll. Returns the function that marks its end. */
  pollBegins(): () => void {
    const poll = ++this.#lastPoll
    this.#runningPolls.add(poll)
    return () => this.#pollEnds(poll)
  }

  /** Resolves when no poll is under way. */
  async untilNoPoll(): Promise<void> {
    while (this.#runningPolls.size > 0) {
      await new Promise<void>((resolve) => this.#onPollEnd.push(resolve))
    }
  }

  #pollEnds(poll: number): void {
    this.#runningPolls.delete(poll)
    for (const resolve of this.#onPollEnd.splice(0)) resolve()
    const oldestRunning = Math.min(...this.#runningPolls)
    let gone = 0
    for (const { delivery, lastPoll } of this.#leaving) {
      if (lastPoll >= oldestRunning) break
      this.#remove(delivery)
      gone++
    }
    this.#leaving.splice(0, gone)
  }

  // Another delivery of the same row stays.
  #remove(delivery: Delivery): void {
    if (!delivery.isTracked) return
    delivery.isTracked = false
    this.#deliveries.delete(delivery.rowId)
    if (this.#ttlMs !== Infinity) this.#since.delete(delivery.rowId)
  }
}
