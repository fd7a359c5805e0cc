import type { Delivery } from '../delivery/delivery.ts'

/** Where the poller gets due rows, as deliveries that this process may run. */
export interface PendingSource {
  /**
   * Returns up to `limit` due rows in order, from the place that the last call reached. `hasNews` says that
   * rows may have become due. Otherwise there is only room again, or a lane to fill.
   */
  fetch(limit: number, hasNews: boolean): Promise<PendingBatch>

  /** Forgets the place it has reached: late commits, released rows and expired leases lie before it. */
  startOver?(): void

  /**
   * Called when a drain has ended or failed. The poller fetches no more before it resolves. Never rejects.
   */
  drained?(error?: unknown): Promise<void>

  /** Forgets which rows have to wait, and reads them again. */
  forgetWaiting?(): void
}

/** The rows of one call, as deliveries. */
export interface PendingBatch {
  readonly deliveries: readonly Delivery[]
  /** Whether to fetch again at once; false if there are no more rows for the moment. */
  readonly hasMore: boolean
}

/** An empty batch, after which the poller does not fetch again at once. */
export const noPending: PendingBatch = { deliveries: [], hasMore: false }
