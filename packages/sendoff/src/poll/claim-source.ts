import { type Clock, systemClock } from '../clock.ts'
import { Delivery, type DeliverySource } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import type { DuePlace, HeldRow, Lease, NamedRow, OutboxStore, RowId } from '../store/index.ts'
import type { PendingBatch, PendingSource } from './pending-source.ts'

/** Options of `claimSource`. */
export interface ClaimSourceOptions {
  /** The store to claim rows from. */
  readonly store: Pick<OutboxStore<never>, 'claim'>
  /** The lease that claimed rows are held under. */
  readonly lease: Lease
  /** Measures the terms of leases. Default: the clock of the machine. */
  readonly clock?: Clock
  /** Skips events that were written less than this many milliseconds ago. Default: 0. */
  readonly skipRecentMs?: number
  /** Claims only rows for this destination. Default: for any. */
  readonly destination?: string
}

/** A source that leases rows one by one, for processes that share the work. */
export function claimSource(options: ClaimSourceOptions): PendingSource {
  return new ClaimSource(options)
}

class ClaimSource implements PendingSource {
  readonly #options: ClaimSourceOptions
  /** The last row of a full batch. */
  #place: DuePlace | undefined

  constructor(options: ClaimSourceOptions) {
    this.#options = options
  }

  async fetch(limit: number): Promise<PendingBatch> {
    const { store, clock = systemClock, lease, skipRecentMs = 0, destination } = this.#options
    const holding = { validUntil: validUntil(clock.monotonic(), lease.ms) }
    const rows = await store.claim({
      lease,
      limit,
      skipRecentMs,
      ...(destination !== undefined && { destination }),
      ...(this.#place && { from: this.#place }),
    })
    const hasMore = rows.length >= limit
    this.#place = hasMore ? rows.at(-1) : undefined
    return { deliveries: rows.map((row) => new Delivery(row, 'cold', holding)), hasMore }
  }

  startOver(): void {
    this.#place = undefined
  }
}

/** Names a row for a claim that counts only while the row has this fence and this holder. */
export function namedRow(
  { eventId, destination, deliveries }: RowId & Pick<HeldRow, 'deliveries'>,
  lockedBy: string | null,
): NamedRow {
  return { eventId, destination, unchanged: { deliveries, lockedBy } }
}

/** Leases the named rows that no other process holds. */
export async function claimRows(
  { store, clock = systemClock, lease }: ClaimSourceOptions,
  wanted: readonly NamedRow[],
  source: DeliverySource,
): Promise<readonly Delivery[]> {
  const holding = { validUntil: validUntil(clock.monotonic(), lease.ms) }
  const rows = await store.claim({ lease, limit: wanted.length, rows: wanted })
  return rows.map((row) => new Delivery(row, source, holding))
}
