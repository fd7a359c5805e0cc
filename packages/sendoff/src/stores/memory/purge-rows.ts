import { EventStatus } from '../../store/event-status.ts'
import type { PurgeRequest, PurgeResult } from '../../store/index.ts'
import type { PurgeCutoffs } from '../purge-cutoffs.ts'
import { purgeCutoffs, youngestCutoff } from '../purge-cutoffs.ts'
import { purgeCursor, purgeProgress } from '../purge-progress.ts'
import type { MemoryEvents } from './memory-events.ts'
import type { MemoryHistory } from './settle-rows.ts'
import type { MemoryRow } from './memory-row.ts'
import { rowIdText } from './memory-row.ts'

/** Deletes one batch of old rows with their history, and one of old idempotency keys. */
export function purgeRows(
  events: MemoryEvents,
  history: MemoryHistory,
  request: PurgeRequest,
  now: number,
): PurgeResult {
  const { rowsAfter, keysLeft } = purgeProgress(request)
  const cutoffs = purgeCutoffs(request, now)
  // A purge with a limit of 0 would never end.
  const limit = Math.max(1, request.limit)

  const rows = rowsAfter === undefined ? [] : events.matching({ afterSeq: rowsAfter }, limit)
  const outlived = rows.filter((row) => hasOutlived(row, cutoffs))
  for (const row of outlived) {
    events.delete(row)
    history.delete(rowIdText(row))
  }
  // Write order is the order of `seq`: behind a whole batch of young rows all are young.
  const isLast = rows.length < limit || rows.every((row) => row.createdAt >= youngestCutoff(cutoffs))
  const deletedIdempotencyKeys =
    keysLeft && cutoffs.keys !== null ? events.deleteIdempotencyKeys(cutoffs.keys, limit) : 0

  return {
    deletedRows: outlived.length,
    deletedIdempotencyKeys,
    cursor: purgeCursor({
      rowsAfter: isLast ? undefined : rows.at(-1)!.seq,
      keysLeft: deletedIdempotencyKeys === limit,
    }),
  }
}

function hasOutlived(row: MemoryRow, { done, dead, any }: PurgeCutoffs): boolean {
  if (any !== null && row.createdAt < any) return true

  const cutoff = row.status === EventStatus.DONE ? done : row.status === EventStatus.DEAD ? dead : null
  return cutoff !== null && (row.doneAt ?? row.createdAt) < cutoff
}
