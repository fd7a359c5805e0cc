import type { Delivery } from '../dispatch/delivery.ts'
import type { DuePlace } from '../store.ts'

/** Where the poller gets due rows from, as deliveries that this process may run. */
export interface PendingSource {
  /**
   * Up to `limit` due rows in order, from `place` on.
   */
  fetch(limit: number, place: DuePlace | undefined): Promise<PendingBatch>
}

export interface PendingBatch {
  readonly deliveries: readonly Delivery[]
  /** Where to go on at once; undefined when there is nothing more to be had for the moment. */
  readonly next: DuePlace | undefined
}
