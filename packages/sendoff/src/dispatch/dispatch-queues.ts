import type { BoundedQueue } from '../delivery/bounded-queue.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { DeliveryQueue } from '../delivery/delivery-queue.ts'

/**
 * The two queues in front of the workers: hot deliveries come straight from a commit, cold ones from the
 * poller.
 */
export class DispatchQueues {
  readonly hot: BoundedQueue<Delivery>
  readonly cold: DeliveryQueue

  constructor(hot: BoundedQueue<Delivery>, cold: DeliveryQueue) {
    this.hot = hot
    this.cold = cold
  }

  /** How many deliveries wait. */
  get length(): number {
    return this.hot.length + this.cold.length
  }

  /** Returns the queue that a delivery waited in. */
  of({ source }: Delivery): DeliveryQueue {
    return source === 'hot' ? this.hot : this.cold
  }

  takeAll(): Delivery[] {
    return [...this.hot.takeAll(), ...this.cold.takeAll()]
  }
}
