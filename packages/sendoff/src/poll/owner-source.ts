import type { Clock } from '../clock.ts'
import { Delivery, keyOf } from '../dispatch/delivery.ts'
import type { InFlightTracker } from '../dispatch/in-flight-tracker.ts'
import type { Bounds, DuePlace, Lease, OutboxStore, Row } from '../store.ts'
import type { NamedLock } from './named-lock.ts'
import type { PendingBatch, PendingSource } from './pending-source.ts'

export interface OwnerSourceOptions {
  readonly store: Pick<OutboxStore<never>, 'claim' | 'pollPending'>
  readonly lock: NamedLock
  readonly inFlight: InFlightTracker
  readonly clock: Clock
  readonly lease: Lease
  readonly skipRecentMs: number
}

const nothing: PendingBatch = { deliveries: [], exhausted: true }

/**
 * Rows read without claims, for the one process that holds the lock.
 *
 * Three kinds of rows need care. What a vanished owner may have had in hand is claimed first, so
 * that its crash counts against the event that caused it. Rows with a lease that has run out are
 * claimed as well. And rows that this process holds already come along again, because nothing
 * marks them in the database: they are asked for on top of the limit and left out.
 */
export class OwnerSource implements PendingSource {
  readonly #options: OwnerSourceOptions
  #inherited: Bounds | null = null

  constructor(options: OwnerSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number, place: DuePlace | undefined): Promise<PendingBatch> {
    const { lock } = this.#options
    if (lock.holding === undefined) {
      const grant = await lock.tryAcquire()
      if (grant === undefined) return nothing
      this.#inherited = grant.inherited
    }
    return this.#inherited === null ? this.#read(limit, place) : this.#takeOver(limit, this.#inherited)
  }

  /** Records that this process holds nothing without a claim. */
  async holdNothing(): Promise<void> {
    const { store, lock } = this.#options
    if (lock.holding === undefined) return
    await store.pollPending({ owner: lock.fence, limit: 0, held: this.#heldBounds() })
  }

  async #takeOver(limit: number, bounds: Bounds): Promise<PendingBatch> {
    const deliveries = await this.#claim({ limit, bounds })
    if (deliveries.length < limit) this.#inherited = null
    return { deliveries, exhausted: false }
  }

  async #read(limit: number, place: DuePlace | undefined): Promise<PendingBatch> {
    const { store, lock, inFlight, skipRecentMs } = this.#options
    const holding = lock.holding
    if (holding === undefined) return nothing

    const wanted = limit + (place === undefined ? inFlight.size : 0)
    const held = this.#heldBounds()
    const rows = await store.pollPending({
      owner: lock.fence,
      limit: wanted,
      held,
      skipRecentMs,
      ...(place === undefined ? {} : { from: place }),
    })
    if (rows === undefined) {
      lock.lost()
      return nothing
    }

    const fresh = rows.filter((row) => inFlight.get(keyOf(row)) === undefined).slice(0, limit)
    const free = fresh.filter((row) => row.lockedBy === null).map((row) => new Delivery(row, 'cold', holding))
    const lapsed = await this.#claimLapsed(fresh.filter((row) => row.lockedBy !== null))
    return { deliveries: [...free, ...lapsed], exhausted: rows.length < wanted }
  }

  async #claimLapsed(rows: readonly Row[]): Promise<readonly Delivery[]> {
    return rows.length === 0 ? [] : this.#claim({ limit: rows.length, keys: rows })
  }

  async #claim(what: {
    limit: number
    keys?: readonly Row[]
    bounds?: Bounds
  }): Promise<readonly Delivery[]> {
    const { store, clock, lease } = this.#options
    const holding = { validUntil: clock.monotonic() + lease.ms }
    const rows = await store.claim({ lease, ...what })
    return rows.map((row) => new Delivery(row, 'cold', holding))
  }

  #heldBounds(): Bounds | null {
    let lowSeq = Infinity
    let highSeq = -Infinity
    for (const { lock, settled, row } of this.#options.inFlight.values()) {
      if (lock === undefined || settled) continue
      lowSeq = Math.min(lowSeq, row.seq)
      highSeq = Math.max(highSeq, row.seq)
    }
    return lowSeq > highSeq ? null : { lowSeq, highSeq }
  }
}
