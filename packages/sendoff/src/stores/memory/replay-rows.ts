import { EventStatus } from '../../store/event-status.ts'
import type { RowId } from '../../store/index.ts'
import type { MemoryEvents } from './memory-events.ts'
import { type MemoryRow, rowIdText } from './memory-row.ts'

/** Replays DEAD rows. Returns how many it replayed. */
export function replayRows(events: MemoryEvents, rows: readonly RowId[], now: number): number {
  return rows.filter((id) => {
    const row = events.findRow(rowIdText(id))
    if (row?.status !== EventStatus.DEAD) return false

    events.change(row, replayedFields(row, now))
    return true
  }).length
}

/** Returns the fields that a replay changes. */
export function replayedFields(row: MemoryRow, now: number): Partial<MemoryRow> {
  return {
    status: EventStatus.NEW,
    availableAt: now,
    attempts: 0,
    losses: 0,
    // The fence rises here, too: a process that held the row before it died must not settle it now.
    deliveries: row.deliveries + 1,
    doneAt: null,
    lastError: null,
    lockedBy: null,
    lockedUntil: null,
    blockedAt: null,
  }
}
