import type { Delivery } from '../delivery/delivery.ts'
import type { DuePlace } from '../store/index.ts'

/** Where the poller gets due rows from, as deliveries that this process may run. */
export interface PendingSource {
  /**
   * Up to `limit` due rows in order, from `place` on. `hasNews` says that something may have become due; otherwise there is
   * only room again, or something to be filled up.
   */
  fetch(limit: number, place: DuePlace | undefined, hasNews: boolean): Promise<PendingBatch>

  /** Called when a drain has come to its end, or failed: nothing more is fetched before it resolves. Never rejects. */
  drained?(error?: unknown): Promise<void>

  /** Looks again at what it took for waiting. */
  forgetWaiting?(): void

  /** Tells the store what this process holds without a lease, where it has to know. */
  recordHeld?(): Promise<void>
}

export interface PendingBatch {
  readonly deliveries: readonly Delivery[]
  /** Where to go on at once; undefined when there is nothing more to be had for the moment. */
  readonly next: DuePlace | undefined
}

export const noPending: PendingBatch = { deliveries: [], next: undefined }
