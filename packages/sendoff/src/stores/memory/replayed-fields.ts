import { EventStatus } from '../../store/event-status.ts'
import type { MemoryRow } from './memory-row.ts'

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
