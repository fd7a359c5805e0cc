import type { Clock } from '../clock.ts'
import type { BoundedQueue } from '../delivery/bounded-queue.ts'
import type { Delivery } from '../delivery/delivery.ts'

export interface PrefetchOptions {
  readonly hotQueue: BoundedQueue<Delivery>
  readonly coldQueue: BoundedQueue<Delivery>
  readonly workerCount: number
  /** Turns of the hot queue for each turn of the cold one. */
  readonly hotShare: number
  /** How many events to take before it is known how long listeners take. */
  readonly first: number
  readonly clock: Clock
}

/** Queued events begin within about this time. It is also the time between two looks at what waits for longer. */
export const prefetchMs = 1_000

/** The latest call's part in the average. */
const weight = 1 / 16

/**
 * How much a process takes that shares the work with others: what its listeners can begin within about a second. With fast
 * listeners that is as much as the queues hold. With slow ones the rest stays in the store, where idle processes find it.
 *
 * It goes by how long calls take on average. A batch counts as many places as it could have had events, since a
 * batch listener begins as many at once. While all workers are busy and none ends, calls take at least as long as that lasts.
 */
export class Prefetch {
  readonly #options: PrefetchOptions
  /** What one place of a worker takes on average; below 0 as long as no call has ended. A number always: it changes with every event. */
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

  /** How many events the hot queue may hold, places kept for later included. */
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

  /** Takes out of both queues what would wait for long; nothing where that is not much. */
  takeWaiting(running: number): Delivery[] {
    const { hotQueue, coldQueue } = this.#options
    const hotLimit = this.hotLimit(running)
    const coldLimit = this.coldLimit(running)
    return [
      ...(hotQueue.length > 2 * hotLimit ? hotQueue.takeBehind(hotLimit) : []),
      ...(coldQueue.length > 2 * coldLimit ? coldQueue.takeBehind(coldLimit) : []),
    ]
  }

  /** How many can begin within a second; `unknown` as long as nothing tells. */
  #limit(running: number, unknown: number): number {
    const { workerCount, clock } = this.#options
    const stalledMs = running < workerCount ? 0 : (clock.monotonic() - this.#movedAt) / this.#places
    const known = (workerCount * prefetchMs) / Math.max(0, this.#placeMs, stalledMs)
    return this.#placeMs < 0 ? Math.min(unknown, known) : known
  }

  // Each worker finds something when it is done, and a batch is not smaller for that.
  #atLeast(limit: number): number {
    return Math.max(this.#options.workerCount, this.#places, Math.ceil(limit))
  }
}
