import type { HeldRow, RenewRequest } from '../../store/index.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryRow } from './memory-row.ts'

/** Leases held rows anew. Returns those that were lost meanwhile. */
export function renewRows(
  events: MemoryEvents,
  { rows, lease }: RenewRequest,
  now: number,
): readonly HeldRow[] {
  const lockedUntil = Math.ceil(now + lease.ms)

  return rows.filter((held) => {
    const row = leasedRow(events, held)
    if (row !== undefined) events.change(row, { lockedUntil })
    return row === undefined
  })
}

/** Hands leased rows back. */
export function releaseRows(events: MemoryEvents, rows: readonly HeldRow[]): void {
  for (const held of rows) {
    const row = leasedRow(events, held)
    if (row !== undefined) events.change(row, { lockedBy: null, lockedUntil: null })
  }
}

function leasedRow(events: MemoryEvents, held: HeldRow): MemoryRow | undefined {
  return held.lockedBy === null ? undefined : events.held(held)
}
