import type { ClaimRequest, ClaimTypesAnswer, ClaimTypesRequest, Row } from '../../store/index.ts'
import { nextPlace } from '../../store/due-order.ts'
import type { MemoryEvents } from './memory-events.ts'
import { asRow, type MemoryRow } from './memory-row.ts'

/** Claims due rows. */
export function claimRows(events: MemoryEvents, request: ClaimRequest, now: number): readonly Row[] {
  return leased(events, events.due(request, now), request, now)
}

/** Claims due rows of some types, within a window of due rows. */
export function claimRowsOfTypes(
  events: MemoryEvents,
  request: ClaimTypesRequest,
  now: number,
): ClaimTypesAnswer {
  const { rows, last } = events.dueOfTypes(request, now)
  const next = nextPlace(rows, request.limit, last)
  return { rows: leased(events, rows, request, now), next }
}

function leased(
  events: MemoryEvents,
  rows: readonly MemoryRow[],
  { lease, rows: ids }: ClaimRequest,
  now: number,
): Row[] {
  return rows.map((row) => {
    // A process that claims its own rows by their ids is their holder and never lost them.
    const isKept = row.lockedBy === null || (ids !== undefined && row.lockedBy === lease.owner)

    events.change(row, {
      lockedBy: lease.owner,
      lockedUntil: Math.ceil(now + lease.ms),
      deliveries: row.deliveries + 1,
      losses: row.losses + (isKept ? 0 : 1),
    })
    return asRow(row)
  })
}
