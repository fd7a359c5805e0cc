import type { Delivery } from './delivery.ts'

/** Where deliveries wait for their turn. */
export interface DeliveryQueue {
  readonly capacity: number
  /** How many wait. */
  readonly length: number
  readonly room: number
  /** Returns false when the queue is full. */
  offer(delivery: Delivery): boolean
  /** The one whose turn is next; with `after`, the next one that can go with that one in a batch. */
  peek(after?: Delivery): Delivery | undefined
  /** Takes what `peek` would show. */
  take(after?: Delivery): Delivery | undefined
  takeAll(): Delivery[]
}
