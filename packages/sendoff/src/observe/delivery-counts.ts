import { LatencyBuckets } from '../latency-buckets.ts'

/** How many pairs of event type and destination are counted apart. All others are counted as `other`. */
const maxKinds = 200

/** A delivery that has ended. */
export interface CountedDelivery {
  readonly eventType: string
  readonly destination: string
  readonly end: DeliveryEnd
  readonly isHot: boolean
  /** How long the listener took; undefined if none ran. */
  readonly listenerMs: number | undefined
  /** Milliseconds since the write, or since the due time of a later event; undefined if it is not known. */
  readonly deliveryMs: number | undefined
}

/** How a delivery ended. A `filtered` event is DONE without its listener, because no rule said yes. */
export type DeliveryEnd = 'done' | 'failed' | 'dead' | 'deferred' | 'filtered'

/** A delivery as statistics count it: one that was filtered is done, under a destination of its own. */
export type DeliveryInStatistics = CountedDelivery & { readonly end: Exclude<DeliveryEnd, 'filtered'> }

/** The counts of one event type and destination. */
export class KindCounts {
  readonly eventType: string
  readonly destination: string
  done = 0
  failed = 0
  dead = 0
  deferred = 0
  hot = 0
  listenerMs = 0
  readonly listener = new LatencyBuckets()
  readonly delivery = new LatencyBuckets()

  constructor(eventType: string, destination: string) {
    this.eventType = eventType
    this.destination = destination
  }
}

/**
 * Counts the deliveries of this process in memory, by event type and destination. It costs an event a look-up
 * and a few additions.
 */
export class DeliveryCounts {
  /** How much the clock of the store is ahead of the clock of this process. */
  storeAheadMs = 0
  readonly #onFirst: () => void
  readonly #kinds = new Map<string, KindCounts>()
  /** The kind that was counted last: most often the next is the same. */
  #last: KindCounts | undefined
  #isRead = true

  /** `onFirst` is called before the first delivery that is counted after `read` or `clear`. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst
  }

  add({ eventType, destination, end, isHot, listenerMs, deliveryMs }: DeliveryInStatistics): void {
    if (this.#isRead) {
      this.#onFirst()
      this.#isRead = false
    }
    const last = this.#last
    const isSame = last !== undefined && last.eventType === eventType && last.destination === destination
    const kind = isSame ? last : (this.#last = this.#kind(eventType, destination))
    kind[end] += 1
    if (isHot) kind.hot += 1
    if (listenerMs !== undefined) {
      kind.listenerMs += listenerMs
      kind.listener.add(listenerMs)
    }
    if (deliveryMs !== undefined) kind.delivery.add(deliveryMs)
  }

  /** Returns the counts since the last `clear`. They continue to rise. */
  read(): readonly KindCounts[] {
    this.#isRead = true
    return [...this.#kinds.values()]
  }

  /** Begins anew, as for a new minute. */
  clear(): void {
    this.#kinds.clear()
    this.#last = undefined
    this.#isRead = true
  }

  #kind(eventType: string, destination: string): KindCounts {
    const key = destination === '' ? eventType : `${eventType}\0${destination}`
    const known = this.#kinds.get(key)
    if (known !== undefined) return known
    if (this.#kinds.size >= maxKinds && eventType !== 'other') return this.#kind('other', '')
    const kind = new KindCounts(eventType, destination)
    this.#kinds.set(key, kind)
    return kind
  }
}
