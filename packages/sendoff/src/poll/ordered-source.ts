import type { LanesToFill } from '../delivery/lanes-to-fill.ts'
import type { OutboxPartitions } from '../store/index.ts'
import { LaneIntake, type LaneIntakeOptions, offerOf } from './lane-intake.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

export interface OrderedSourceOptions extends LaneIntakeOptions {
  readonly partitions: OutboxPartitions
  readonly lanes: LanesToFill
  readonly lock: NamedLock
  /** Asks the poller to poll again after some time. */
  readonly wakePoller: (inMs: number) => void
}

/** The one lane that everything is in. */
export const onlyLane = 'all'

/**
 * Rows in the order of writing, for the one process that holds the lock: nothing is started before what was written
 * first is settled.
 */
export class OrderedSource implements PendingSource {
  readonly #options: OrderedSourceOptions
  readonly #intake: LaneIntake

  constructor(options: OrderedSourceOptions) {
    this.#options = options
    this.#intake = new LaneIntake(options)
  }

  async fetch(limit: number): Promise<PendingBatch> {
    const { partitions, lanes, lock, wakePoller } = this.#options
    const holding = await lock.acquire()
    lanes.scanBegins()
    // While a delivery of the lane is here, the store has no other to give.
    if (holding === undefined || (lanes.has(onlyLane) && lanes.emptyLanes(1).length === 0)) return noPending

    const renewal = lock.dueRenewal
    const rows = await partitions.readAll({
      owner: lock.fence,
      limit,
      ...(renewal && { renewMs: renewal.ttlMs }),
    })
    if (rows === undefined) return this.#lost()
    renewal?.done()

    const offer = offerOf(rows, rows.length < limit, limit)
    const taken = await this.#intake.take(lock.fence, [{ holding, ready: offer.ready }])
    if (taken === undefined) return this.#lost()

    const deliveries = taken.flat()
    lanes.expectMore(onlyLane, offer.hasMore && deliveries.length > 0)
    if (offer.waitMs !== undefined && offer.waitMs < Infinity) wakePoller(Math.max(1, offer.waitMs))
    return { deliveries, next: undefined }
  }

  async recordHeld(): Promise<void> {
    const { lock } = this.#options
    if (lock.holding !== undefined) await this.#intake.recordHeld(lock.fence)
  }

  #lost(): PendingBatch {
    this.#options.lock.lost()
    return noPending
  }
}
