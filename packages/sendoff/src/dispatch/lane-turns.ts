import type { Delivery } from '../delivery/delivery.ts'
import { LaneQueue } from '../delivery/lane-queue.ts'
import type { Settler } from '../settle/settler.ts'
import type { Outcome } from '../store/index.ts'
import type { Waker } from '../wake/waker.ts'
import type { LaneSettings } from './dispatcher-options.ts'
import type { UnrunDeliveries } from './unrun-deliveries.ts'

const none: readonly Delivery[] = []

/**
 * Controls the lane queue: decides when a lane's turn ends, and whether the lane then continues.
 *
 * Workers take deliveries through the queue. Sources see it only as `LanesToFill`.
 */
export class LaneTurns {
  readonly queue: LaneQueue
  readonly #settings: LaneSettings

  constructor(settings: LaneSettings, capacity: number, waker: Waker | undefined) {
    this.#settings = settings
    this.queue = new LaneQueue({
      capacity,
      laneOf: ({ row }) => settings.laneOf(row),
      partitionOf: settings.partitionOf,
      onEmptyLane: () => waker?.resume(),
    })
  }

  /** Whether the later events of a lane wait for a failed one. */
  get waitsAfterFailure(): boolean {
    return this.#settings.onFailure === 'wait'
  }

  /** Whether no lane has a delivery that may begin. */
  get isStalled(): boolean {
    return this.queue.peek() === undefined
  }

  /**
   * Ends the turn of a settled delivery. If its row has to be delivered again first, returns the deliveries
   * that waited behind it: they must not run here.
   */
  settled(delivery: Delivery, outcome: Outcome, refused: boolean): readonly Delivery[] {
    if (delivery.source === 'hot') return none
    return this.queue.endTurn(delivery, !refused && this.#laneContinuesAfter(outcome))
  }

  /** Ends the turn of a delivery that was not delivered. Returns the deliveries that waited behind it. */
  giveUp(delivery: Delivery): readonly Delivery[] {
    return delivery.source === 'hot' ? none : this.queue.endTurn(delivery, false)
  }

  /**
   * Settles a batch. An event behind a failed one of its lane counts as not delivered, whatever its listener
   * returned, and is handed back.
   */
  settleBatch(
    deliveries: readonly Delivery[],
    outcomes: readonly Outcome[],
    settler: Settler,
    unrun: UnrunDeliveries,
  ): void {
    const stopped = new Set<string>()
    for (const [index, delivery] of deliveries.entries()) {
      const lane = this.#settings.laneOf(delivery.row)
      if (stopped.has(lane)) {
        unrun.handBack(delivery)
        continue
      }
      const outcome = outcomes[index]!
      if (!this.#laneContinuesAfter(outcome)) stopped.add(lane)
      settler.add(delivery, outcome)
    }
  }

  /** Whether the next delivery of a lane may begin after this outcome. */
  #laneContinuesAfter({ kind }: Outcome): boolean {
    return kind === 'done' || kind === 'delete' || kind === 'dead' || !this.waitsAfterFailure
  }
}
