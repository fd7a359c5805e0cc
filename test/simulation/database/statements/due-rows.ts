import {
  type ClaimRequest,
  type DuePlace,
  inDueOrder,
  isPending,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { Cell } from '../cell.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'

/** A row as a statement found it. */
export interface FoundRow {
  readonly cell: Cell<StoredRow>
  readonly row: StoredRow
}

/** Which due rows a statement wants. */
export interface DueWish {
  readonly from?: DuePlace
  readonly skipRecentMs?: number
  readonly destination?: string
  /** The process whose own leases do not count. */
  readonly exceptHolder?: string
}

/** Returns whether a row may be claimed or read now. */
export function isWanted(db: SimulatedDatabase, row: StoredRow, wish: DueWish): boolean {
  const { from, skipRecentMs, exceptHolder, destination } = wish
  const now = db.now()
  if (!isPending(row.status) || row.blockedAt !== null || row.availableAt > now) return false
  if (from !== undefined && inDueOrder(row, from) < 0) return false
  if (row.lockedBy !== null && row.lockedBy !== exceptHolder && row.lockedUntil! > now) return false
  if (db.isPaused(row) || (destination !== undefined && row.destination !== destination)) return false
  return !skipRecentMs || row.createdAt <= now - skipRecentMs
}

/** Returns the rows that are due and free at this moment, in due order. */
export function dueRows(db: SimulatedDatabase, wish: DueWish): FoundRow[] {
  return db.pending(inDueOrder).filter(({ row }) => isWanted(db, row, wish))
}

/** Returns which due rows a claim wants. */
export function wishOf({
  from,
  skipRecentMs,
  destination,
}: Pick<ClaimRequest, 'from' | 'skipRecentMs' | 'destination'>): DueWish {
  return {
    ...(from && { from }),
    ...(skipRecentMs !== undefined && { skipRecentMs }),
    ...(destination !== undefined && { destination }),
  }
}
