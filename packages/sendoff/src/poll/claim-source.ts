import { type Clock, systemClock } from '../clock.ts'
import { Delivery, type DeliverySource } from '../delivery/delivery.ts'
import { validUntil } from '../delivery/local-validity.ts'
import type { DuePlace, Lease, OutboxStore, RowId } from '../store/index.ts'
import type { PendingBatch, PendingSource } from './pending-source.ts'

export interface ClaimSourceOptions {
  readonly store: Pick<OutboxStore<never>, 'claim'>
  readonly lease: Lease
  readonly clock?: Clock
  readonly skipRecentMs?: number
}

/** Rows leased one by one, for processes that share the work. */
export function claimSource({
  store,
  clock = systemClock,
  lease,
  skipRecentMs = 0,
}: ClaimSourceOptions): PendingSource {
  return {
    async fetch(limit: number, place: DuePlace | undefined): Promise<PendingBatch> {
      const holding = { validUntil: validUntil(clock.monotonic(), lease.ms) }
      const rows = await store.claim({
        lease,
        limit,
        skipRecentMs,
        ...(place === undefined ? {} : { from: place }),
      })
      return {
        deliveries: rows.map((row) => new Delivery(row, 'cold', holding)),
        next: rows.length < limit ? undefined : rows.at(-1),
      }
    },
  }
}

/** Leases the rows that are named, as far as nobody else has them. */
export async function claimRows(
  { store, clock = systemClock, lease }: ClaimSourceOptions,
  wanted: readonly RowId[],
  source: DeliverySource,
): Promise<readonly Delivery[]> {
  const holding = { validUntil: validUntil(clock.monotonic(), lease.ms) }
  const rows = await store.claim({ lease, limit: wanted.length, rows: wanted })
  return rows.map((row) => new Delivery(row, source, holding))
}
