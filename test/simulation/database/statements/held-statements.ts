import { type HeldRow, isPending, type StoredRow } from '../../../../packages/sendoff/src/store/index.ts'
import type { Cell } from '../cell.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'

/** Returns the newest state of a row if the process still holds it. */
export function heldRow(cell: Cell<StoredRow>, held: HeldRow): StoredRow | undefined {
  const row = cell.committed
  if (row === undefined || !isPending(row.status)) return undefined
  return row.deliveries === held.deliveries && row.lockedBy === held.lockedBy ? row : undefined
}

/**
 * Changes leased rows. Returns those that the process no longer holds. It skips rows that others are changing
 * at first, and waits for them one by one afterwards.
 */
export function* changeHeld(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  rows: readonly HeldRow[],
  changes: () => Partial<StoredRow>,
): Program<readonly HeldRow[]> {
  const lost: HeldRow[] = []
  const busy: HeldRow[] = []
  yield 'pause'
  for (const held of rows) {
    const cell = db.eventCell(held)
    const row = held.lockedBy === null ? undefined : heldRow(cell, held)
    if (row === undefined) lost.push(held)
    else if (cell.tryLock(tx, 'noKeyUpdate')) db.writeEvent(tx, cell, { ...row, ...changes() })
    else busy.push(held)
  }
  yield 'pause'
  return yield* changeBusy(db, tx, busy, changes, lost)
}

// A statement of its own for each: the first one has committed by then, and locks nothing any more.
function* changeBusy(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  busy: readonly HeldRow[],
  changes: () => Partial<StoredRow>,
  lost: HeldRow[],
): Program<readonly HeldRow[]> {
  if (busy.length === 0) return lost
  tx.commit()
  for (const held of busy) {
    const alone = db.begin(tx.name)
    const cell = db.eventCell(held)
    try {
      yield* alone.lock(cell, 'noKeyUpdate')
      const row = heldRow(cell, held)
      if (row === undefined) lost.push(held)
      else db.writeEvent(alone, cell, { ...row, ...changes() })
      yield 'pause'
      db.commit(alone)
    } finally {
      db.rollback(alone)
    }
  }
  return lost
}
