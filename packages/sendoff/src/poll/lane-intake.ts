import type { Clock } from '../clock.ts'
import { Delivery, type Holding, isSuspect, rowIdOf } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type {
  FencedRow,
  Lease,
  OrderedRow,
  OutboxPartitions,
  OutboxStore,
  OwnerFence,
} from '../store/index.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { claimRows } from './claim-source.ts'

export interface LaneIntakeOptions {
  readonly store: Pick<OutboxStore<never>, 'claim'>
  readonly partitions: Pick<OutboxPartitions, 'hold'>
  /** The lock that rows are read under. */
  readonly lock: NamedLock
  readonly inFlight: InFlightTracker
  readonly clock: Clock
  readonly lease: Lease
}

/** What a lane offers now. */
export interface LaneOffer {
  /** The rows that may run, one after another. */
  readonly ready: readonly OrderedRow[]
  /** How long the first row has to wait, where none may run. */
  readonly waitMs: number | undefined
  /** Whether there is, or may be, something behind those that may run. */
  readonly hasMore: boolean
}

/**
 * The rows of a lane up to the first that has to wait, as far as there is room. A suspect comes first or not at all: it runs
 * alone, and what stands before it has to be done by then.
 */
export function offerOf(rows: readonly OrderedRow[], isWhole: boolean, room: number): LaneOffer {
  const end = rows.findIndex((row, index) => row.waitMs > 0 || (index > 0 && isSuspect(row)))
  const ready = end === -1 ? rows : rows.slice(0, end)
  return {
    ready: ready.slice(0, Math.max(0, room)),
    waitMs: ready.length === 0 ? rows[0] && waitOf(rows[0]) : undefined,
    hasMore: ready.length > 0 && (end !== -1 || !isWhole || ready.length > room),
  }
}

/** A process that closes leases what it still runs, and is mostly done long before the lease ends: the row is looked at so often. */
const leasedLookMs = 500

function waitOf({ lockedBy, waitMs }: OrderedRow): number {
  return lockedBy === null || waitMs === Infinity ? waitMs : Math.min(waitMs, leasedLookMs)
}

/** Makes deliveries of rows that were read, and lets the store know which rows this process has in hand. */
export class LaneIntake {
  readonly #options: LaneIntakeOptions
  #hasRecorded = false

  constructor(options: LaneIntakeOptions) {
    this.#options = options
  }

  /** Deliveries for the rows of each lane. Undefined when the lock is no longer the owner's. */
  async take(
    lanes: readonly { readonly holding: Holding; readonly ready: readonly OrderedRow[] }[],
  ): Promise<readonly (readonly Delivery[])[] | undefined> {
    const { fence } = this.#options.lock
    const claimed = await this.#claimLapsed(lanes.flatMap(({ ready }) => ready))
    const taken = lanes.map(({ holding, ready }) => {
      const deliveries: Delivery[] = []
      for (const row of ready) {
        const delivery =
          row.lockedBy === null ? new Delivery(row, 'cold', holding) : claimed.get(rowIdOf(row))
        // Still in hand, or somebody else has it after all: what is behind it has to wait.
        if (delivery === undefined || this.#options.inFlight.get(delivery.rowId) !== undefined) break
        deliveries.push(delivery)
      }
      return deliveries
    })
    return (await this.#record(fence, taken.flat())) ? taken : undefined
  }

  /** Lets the store know what is in hand, if it was told of something else. */
  async recordHeld(): Promise<void> {
    const { lock, inFlight } = this.#options
    if (lock.holding !== undefined && this.#hasRecorded) await this.#write(lock.fence, inFlight.unclaimed())
  }

  async #claimLapsed(rows: readonly OrderedRow[]): Promise<ReadonlyMap<string, Delivery>> {
    const lapsed = rows.filter((row) => row.lockedBy !== null)
    if (lapsed.length === 0) return new Map()
    const claimed = await claimRows(this.#options, lapsed, 'cold')
    return new Map(claimed.map((delivery) => [delivery.rowId, delivery]))
  }

  async #record(owner: OwnerFence, taken: readonly Delivery[]): Promise<boolean> {
    const unclaimed = taken.filter(({ lock }) => lock !== undefined)
    const inHand = this.#options.inFlight.unclaimed()
    if (unclaimed.length > 0) return this.#write(owner, inHand.concat(unclaimed))
    return inHand.length > 0 || !this.#hasRecorded || this.#write(owner, [])
  }

  async #write(owner: OwnerFence, rows: readonly FencedRow[]): Promise<boolean> {
    this.#hasRecorded = rows.length > 0
    return this.#options.partitions.hold(owner, rows)
  }
}
