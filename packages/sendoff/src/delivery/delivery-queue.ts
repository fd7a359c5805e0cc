import type { Delivery } from './delivery.ts'

/** A queue in which deliveries wait for their turn. */
export interface DeliveryQueue {
  readonly capacity: number
  /** How many deliveries wait. */
  readonly length: number
  /** How many more deliveries it takes. */
  readonly room: number
  /** Adds a delivery. Returns false if the queue is full. */
  offer(delivery: Delivery): boolean
  /** Returns the delivery that is next. With `after`, returns the next one that can join its batch. */
  peek(after?: Delivery): Delivery | undefined
  /** Takes the delivery that `peek` would return. */
  take(after?: Delivery): Delivery | undefined
  takeAll(): Delivery[]
}
