import type { LanesToFill } from '../delivery/lanes-to-fill.ts'
import type { OutboxLanes } from '../store/index.ts'
import { type LaneIntake, offerOf } from './lane-intake.ts'
import type { Waker } from '../wake/waker.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

/** Options of `OrderedSource`. */
export interface OrderedSourceOptions {
  readonly intake: LaneIntake
  readonly store: { readonly lanes: OutboxLanes<never> }
  readonly lanes: LanesToFill
  readonly lock: NamedLock
  /** Makes the poller poll again after some milliseconds. */
  readonly waker: Pick<Waker, 'wake'>
}

/** The key of the only lane. It holds all rows. */
export const onlyLane = 'all'

/**
 * Rows in write order, for the process that holds the lock. A delivery begins only after all rows written
 * before it are settled.
 */
export class OrderedSource implements PendingSource {
  readonly #options: OrderedSourceOptions

  constructor(options: OrderedSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number): Promise<PendingBatch> {
    const { intake, store, lanes, lock, waker } = this.#options
    const holding = await lock.acquire()
    lanes.scanBegins()
    // While the lane has deliveries, there is nothing to fetch.
    if (holding === undefined || (lanes.has(onlyLane) && lanes.emptyLanes(1).length === 0)) return noPending

    const renewal = lock.dueRenewal
    const rows = await store.lanes.readAll({
      owner: lock.fence,
      limit,
      ...(renewal && { renewMs: renewal.ttlMs }),
    })
    if (rows === undefined) return this.#lost()
    renewal?.done()

    const offer = offerOf(rows, rows.length < limit, limit)
    const taken = await intake.take([{ holding, ready: offer.ready }])
    if (taken === undefined) return this.#lost()

    const deliveries = taken.flat()
    lanes.expectMore(onlyLane, offer.hasMore && deliveries.length > 0)
    if (offer.waitMs !== undefined && offer.waitMs < Infinity) waker.wake(Math.max(1, offer.waitMs))
    return { deliveries, hasMore: false }
  }

  #lost(): PendingBatch {
    this.#options.lock.lost()
    return noPending
  }
}
