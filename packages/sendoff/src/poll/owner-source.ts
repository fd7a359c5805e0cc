import type { Clock } from '../clock.ts'
import { Delivery, rowIdOf } from '../delivery/delivery.ts'
import type { InFlightTracker } from '../delivery/in-flight-tracker.ts'
import type { Bounds, DuePlace, Lease, OutboxStore, Row } from '../store/index.ts'
import { claimRows, namedRow } from './claim-source.ts'
import type { NamedLock } from '../hold/named-lock.ts'
import { noPending, type PendingBatch, type PendingSource } from './pending-source.ts'

/** Options of `OwnerSource`. */
export interface OwnerSourceOptions {
  readonly store: Pick<OutboxStore<never>, 'claim' | 'pollPending'>
  readonly lock: NamedLock
  readonly inFlight: InFlightTracker
  readonly clock: Clock
  readonly lease: Lease
  readonly skipRecentMs: number
  /** The destination whose rows it reads. */
  readonly destination: string
}

/**
 * Rows read without claims, for the process that holds the lock.
 *
 * Two kinds of rows need care. Rows with an expired lease are claimed. Rows that this process holds already
 * come back with each read, because nothing marks them in the database. So the source reads that many rows on
 * top of the limit, and leaves them out.
 */
export class OwnerSource implements PendingSource {
  readonly #options: OwnerSourceOptions
  /** The last new row of a full batch. */
  #place: DuePlace | undefined

  constructor(options: OwnerSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number): Promise<PendingBatch> {
    const { store, lock, inFlight, skipRecentMs, destination } = this.#options
    const place = this.#place
    const holding = await lock.acquire()
    if (holding === undefined) return noPending

    const inHand = inFlight.unclaimed()
    // After a place, only the row at that place can be one that this process holds.
    const wanted = limit + (place === undefined ? inHand.length : 1)
    const renewal = lock.dueRenewal
    const rows = await store.pollPending({
      owner: lock.fence,
      limit: wanted,
      held: boundsOf(inHand),
      skipRecentMs,
      destination,
      ...(place && { from: place }),
      ...(renewal && { renewMs: renewal.ttlMs }),
    })
    if (rows === undefined) {
      lock.lost()
      return noPending
    }
    renewal?.done()

    const fresh = rows.filter((row) => inFlight.get(rowIdOf(row)) === undefined).slice(0, limit)
    const claimed = await this.#claim(fresh.filter((row) => row.lockedBy !== null))
    const deliveries = fresh.flatMap((row) =>
      row.lockedBy === null ? [new Delivery(row, 'cold', holding)] : (claimed.get(rowIdOf(row)) ?? []),
    )
    const hasMore = rows.length >= wanted && fresh.length > 0
    this.#place = hasMore ? fresh.at(-1) : undefined
    return { deliveries, hasMore }
  }

  startOver(): void {
    this.#place = undefined
  }

  /** Records in the store which rows this process holds, without reading more. */
  async recordHeld(): Promise<void> {
    const { store, lock, inFlight } = this.#options
    if (lock.holding === undefined) return
    await store.pollPending({ owner: lock.fence, limit: 0, held: boundsOf(inFlight.unclaimed()) })
  }

  async #claim(rows: readonly Row[]): Promise<ReadonlyMap<string, Delivery>> {
    if (rows.length === 0) return new Map()
    const named = rows.map((row) => namedRow(row, row.lockedBy))
    const claimed = await claimRows(this.#options, named, 'cold')
    return new Map(claimed.map((delivery) => [delivery.rowId, delivery]))
  }
}

function boundsOf(deliveries: readonly Delivery[]): Bounds | null {
  let low: Row | undefined
  let high: Row | undefined
  for (const { row } of deliveries) {
    if (low === undefined || isBefore(row, low)) low = row
    if (high === undefined || isBefore(high, row)) high = row
  }
  return low === undefined || high === undefined ? null : { low: placeOf(low), high: placeOf(high) }
}

function isBefore(a: DuePlace, b: DuePlace): boolean {
  return a.availableAt < b.availableAt || (a.availableAt === b.availableAt && a.seq < b.seq)
}

function placeOf({ availableAt, seq }: DuePlace): DuePlace {
  return { availableAt, seq }
}
