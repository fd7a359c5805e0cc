import type { Clock } from '../clock.ts'
import type { BoundedQueue } from '../delivery/bounded-queue.ts'
import type { Delivery } from '../delivery/delivery.ts'

/** Options of `Prefetch`. */
export interface PrefetchOptions {
  readonly hotQueue: BoundedQueue<Delivery>
  readonly coldQueue: BoundedQueue<Delivery>
  readonly workerCount: number
  /** How many turns the hot queue has for each turn of the cold one. */
  readonly hotShare: number
  /** How many events to take before the duration of listeners is known. */
  readonly first: number
  readonly clock: Clock
}

/**
 * Queued events begin within about this time. At intervals of this length, the process hands back events that
 * would wait longer.
 */
export const prefetchMs = 1_000

/** The weight of the latest call in the average. */
const weight = 1 / 16

/**
 * Limits how many events a process takes if it shares the work with others: as many as its listeners can
 * begin within about a second. With fast listeners, that is as many as the queues hold. With slow ones, the
 * rest stays in the store, where idle processes find it.
 *
 * The limit follows from the average duration of calls. A batch counts as its largest possible number of
 * events, since a batch listener can begin that many at once. While all workers are busy and no call ends,
 * the length of that standstill counts as the least duration of a call.
 */
export class Prefetch {
  readonly #options: PrefetchOptions
  /**
   * The average milliseconds per place; below 0 until a call has ended. It is always a number, because it
   * changes with every event, and a field of one type is cheap to update.
   */
  #placeMs = -0.5
  #movedAt = 0.5
  #places = 1

  constructor(options: PrefetchOptions) {
    this.#options = options
  }

  began(now: number, places: number): void {
    this.#movedAt = now
    this.#places = places
  }

  ended(now: number, durationMs: number, places: number): void {
    this.#movedAt = now
    const placeMs = durationMs / places
    this.#placeMs = this.#placeMs < 0 ? placeMs : this.#placeMs + (placeMs - this.#placeMs) * weight
  }

  /** How many events the hot queue may hold, including reserved places. */
  hotLimit(running: number): number {
    const { hotQueue, coldQueue, hotShare } = this.#options
    const limit = this.#limit(running, hotQueue.capacity)
    return this.#atLeast(Math.max(limit - coldQueue.length, (limit * hotShare) / (hotShare + 1)))
  }

  /** How many events the cold queue may hold. */
  coldLimit(running: number): number {
    const { hotQueue, coldQueue, hotShare, first } = this.#options
    const limit = this.#limit(running, Math.min(first, coldQueue.capacity))
    return this.#atLeast(Math.max(limit - hotQueue.length, limit / (hotShare + 1)))
  }

  /** Takes from both queues the events that would wait too long, unless they are few. */
  takeWaiting(running: number): Delivery[] {
    const { hotQueue, coldQueue } = this.#options
    const hotLimit = this.hotLimit(running)
    const coldLimit = this.coldLimit(running)
    return [
      ...(hotQueue.length > 2 * hotLimit ? hotQueue.takeBehind(hotLimit) : []),
      ...(coldQueue.length > 2 * coldLimit ? coldQueue.takeBehind(coldLimit) : []),
    ]
  }

  /** How many events can begin within a second; `unknown` while no duration is known. */
  #limit(running: number, unknown: number): number {
    const { workerCount, clock } = this.#options
    const stalledMs = running < workerCount ? 0 : (clock.monotonic() - this.#movedAt) / this.#places
    const known = (workerCount * prefetchMs) / Math.max(0, this.#placeMs, stalledMs)
    return this.#placeMs < 0 ? Math.min(unknown, known) : known
  }

  // Each free worker must find an event, and batches must keep their full size.
  #atLeast(limit: number): number {
    return Math.max(this.#options.workerCount, this.#places, Math.ceil(limit))
  }
}
