import type { Delivery } from '../delivery/delivery.ts'

/** Where the poller gets due rows from, as deliveries that this process may run. */
export interface PendingSource {
  /**
   * Up to `limit` due rows in order, from the place that the last call has reached. `hasNews` says that something may have
   * become due; otherwise there is only room again, or a lane to be filled up.
   */
  fetch(limit: number, hasNews: boolean): Promise<PendingBatch>

  /** Forgets the place it has reached: late commits, released rows and leases that have run out lie before it. */
  startOver?(): void

  /** Called when a drain has come to its end, or failed: nothing more is fetched before it resolves. Never rejects. */
  drained?(error?: unknown): Promise<void>

  /** Reads again what it took for waiting. */
  forgetWaiting?(): void
}

/** The rows of one call, as deliveries. */
export interface PendingBatch {
  readonly deliveries: readonly Delivery[]
  /** Whether to fetch again at once; false when there is nothing more to be had for the moment. */
  readonly hasMore: boolean
}

/** A batch without rows, and none to follow at once. */
export const noPending: PendingBatch = { deliveries: [], hasMore: false }
