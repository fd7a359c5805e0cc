import type { Clock } from '../clock.ts'
import { Delivery, type Holding, isSuspect, rowIdOf } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { Lease, OrderedRow, StoreWith } from '../store/index.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { claimRows, namedRow } from './claim-source.ts'
import type { HeldRecord } from './held-record.ts'

/** Options of `LaneIntake`. */
export interface LaneIntakeOptions {
  readonly store: Pick<StoreWith<never, 'lanes'>, 'claim'>
  /** The lock under which rows are read. */
  readonly lock: NamedLock
  /** The record of rows that are held under the lock. */
  readonly held: HeldRecord
  readonly inFlight: InFlightTracker
  readonly clock: Clock
  readonly lease: Lease
}

/** The rows that a lane offers now. */
export interface LaneOffer {
  /** The rows that may run, one after another. */
  readonly ready: readonly OrderedRow[]
  /** How many milliseconds the first row has to wait; undefined if it may run. */
  readonly waitMs: number | undefined
  /** Whether the lane has, or may have, rows after those that may run. */
  readonly hasMore: boolean
}

/**
 * Returns the rows of a lane up to the first that has to wait, as far as there is room. A suspect is offered
 * only as the first row: it runs alone, and the rows before it have to be done by then.
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

/**
 * The poll interval for a leased row, in milliseconds. A closing process leases the rows it still runs, and
 * mostly ends long before the lease does.
 */
const leasedLookMs = 500

function waitOf({ lockedBy, waitMs }: OrderedRow): number {
  return lockedBy === null || waitMs === Infinity ? waitMs : Math.min(waitMs, leasedLookMs)
}

/** Makes deliveries of rows that were read, and records in the store which rows this process holds. */
export class LaneIntake {
  readonly #options: LaneIntakeOptions

  constructor(options: LaneIntakeOptions) {
    this.#options = options
  }

  /**
   * Returns deliveries for the rows of each lane, or undefined if this process does not own the lock any
   * more.
   */
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
        // This process still holds the row, or another process does after all. The rows behind it have to
        // wait.
        if (delivery === undefined || this.#options.inFlight.get(delivery.rowId) !== undefined) break
        deliveries.push(delivery)
      }
      return deliveries
    })
    return (await this.#options.held.take(fence, taken.flat())) ? taken : undefined
  }

  async #claimLapsed(rows: readonly OrderedRow[]): Promise<ReadonlyMap<string, Delivery>> {
    const lapsed = rows.filter((row) => row.lockedBy !== null)
    if (lapsed.length === 0) return new Map()
    const named = lapsed.map((row) => namedRow(row, row.lockedBy))
    const claimed = await claimRows(this.#options, named, 'cold')
    return new Map(claimed.map((delivery) => [delivery.rowId, delivery]))
  }
}
