import type { Clock } from '../clock.ts'
import type { HandBack } from '../settle/hand-back.ts'
import type { Waker } from '../wake/waker.ts'
import type { DispatchQueues } from './dispatch-queues.ts'
import type { IntakeGate } from './intake-gate.ts'
import type { ListenerCalls } from './listener-calls.ts'
import { type Prefetch, prefetchMs } from './prefetch.ts'

/** Options of `QueueRoom`. */
export interface QueueRoomOptions {
  readonly waker?: Waker
  readonly queues: DispatchQueues
  readonly prefetch: Prefetch | undefined
  readonly calls: ListenerCalls
  readonly gate: IntakeGate
  readonly handBack: HandBack
  readonly workerCount: number
  readonly clock: Clock
}

/**
 * Limits how many deliveries the queues take, and wakes the poller when there is room again.
 *
 * With a prefetch limit, it hands back deliveries that would wait too long, for other processes to find.
 */
export class QueueRoom {
  readonly #options: QueueRoomOptions
  readonly #queues: DispatchQueues
  readonly #prefetch: Prefetch | undefined
  readonly #calls: ListenerCalls
  /** When the cold queue has at most this many deliveries, it wakes the poller; -1 if it need not. */
  #lowWater = -1
  #wakesAtLowWater = false
  #isWatching = false

  constructor(options: QueueRoomOptions) {
    this.#options = options
    this.#queues = options.queues
    this.#prefetch = options.prefetch
    this.#calls = options.calls
  }

  /** How many more deliveries the cold queue takes. */
  coldRoom(): number {
    if (!this.#options.gate.accepts) return 0
    const { room, length, capacity } = this.#queues.cold
    if (this.#prefetch === undefined) return Math.max(0, room)

    const limit = this.#prefetch.coldLimit(this.#calls.size)
    const left = Math.min(room, limit - length)
    if (left > 0) return left
    this.#lowWater = Math.min(limit, capacity) >> 1
    return 0
  }

  /** Reserves a place in the hot queue. Returns false if there is none, or the event would wait too long. */
  reserveHot(): boolean {
    const { hot } = this.#queues
    const taken = hot.capacity - hot.room
    if (this.#prefetch !== undefined && taken >= this.#options.workerCount) {
      if (taken >= this.#prefetch.hotLimit(this.#calls.size)) return false
    }
    return hot.reserve()
  }

  /** Called for every delivery that leaves the cold queue. */
  tookCold(): void {
    const { length, capacity } = this.#queues.cold
    const hasRoom = this.#prefetch === undefined ? length === capacity >> 1 : length <= this.#lowWater
    if (hasRoom) this.#tellOfRoom()
  }

  /**
   * Checks every second for deliveries that would wait too long, while more wait than the workers take in one
   * turn.
   */
  watchWaiting(): void {
    if (this.#prefetch === undefined || this.#isWatching) return
    if (this.#queues.length <= this.#options.workerCount) return
    this.#isWatching = true
    this.#options.clock.schedule(prefetchMs, () => {
      this.#isWatching = false
      if (this.#options.gate.accepts) void this.#handBackWaiting(this.#prefetch!)
      this.watchWaiting()
    })
  }

  #tellOfRoom(): void {
    this.#lowWater = -1
    if (this.#wakesAtLowWater) this.#options.waker?.wake()
    else this.#options.waker?.resume()
    this.#wakesAtLowWater = false
  }

  // The poller of this process takes back as many of them as there is room for.
  async #handBackWaiting(prefetch: Prefetch): Promise<void> {
    const waiting = prefetch.takeWaiting(this.#calls.size)
    if (waiting.length === 0) return
    this.#lowWater = prefetch.coldLimit(this.#calls.size) >> 1
    this.#wakesAtLowWater = true
    await this.#options.handBack.letGo(waiting)
    this.#options.waker?.announce()
    this.tookCold()
  }
}
