import type { Delivery } from '../dispatch/delivery.ts'
import type { DuePlace } from '../store.ts'

/** Where the poller gets due rows from, as deliveries that this process may run. */
export interface PendingSource {
  /**
   * Up to `limit` due rows in due order, from `place` on. `exhausted` says that nothing was left
   * behind, so that asking again at once is of no use.
   */
  fetch(limit: number, place: DuePlace | undefined): Promise<PendingBatch>
}

export interface PendingBatch {
  readonly deliveries: readonly Delivery[]
  readonly exhausted: boolean
}
