import { newMemoryRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import {
  duplicateEventId,
  type InsertRequest,
  type InsertResult,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { Cell } from '../cell.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'

/**
 * Adds rows within a transaction, all or none. Waits for a transaction that has used one of the idempotency
 * keys and has not ended yet. Others see the rows, and get a signal, after the commit.
 */
export function* insertRows(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  { rows, lease, announce = false }: Omit<InsertRequest<never>, 'tx'>,
): Program<readonly InsertResult[]> {
  yield 'pause'
  const keys = [...new Set(rows.flatMap(({ idempotencyKey }) => idempotencyKey ?? []))].sort()
  for (const key of keys) yield* tx.lock(db.keyCell(key))
  const cells = new Map(rows.map((row) => [row, db.eventCell(row)]))
  for (const cell of cells.values()) yield* tx.lock(cell)

  const before = tx.savepoint()
  const usedHere = new Map<string, string>()
  const inserted: StoredRow[] = []
  const results: InsertResult[] = []
  for (const row of rows) {
    const { idempotencyKey: key, eventId } = row
    const used = key === null ? undefined : (usedHere.get(key) ?? tx.read(db.keyCell(key))?.eventId)
    if (key !== null && used !== undefined && usedHere.get(key) !== eventId) {
      results.push({ kind: 'duplicate', eventId: used })
      continue
    }
    const cell: Cell<StoredRow> = cells.get(row)!
    if (tx.read(cell) !== undefined) {
      tx.undoTo(before)
      throw duplicateEventId(row)
    }
    if (key !== null) {
      usedHere.set(key, eventId)
      tx.write(db.keyCell(key), { eventId })
    }
    const stored = newMemoryRow(row, db.nextSeq(), lease, Math.floor(db.now()))
    db.writeEvent(tx, cell, stored)
    inserted.push(stored)
    results.push({ kind: 'inserted', seq: stored.seq, deliveries: stored.deliveries, certain: true })
  }
  const isSignalled = inserted.some((row) => row.lockedBy === null)
  if (announce && isSignalled) {
    tx.onCommit(() => {
      if (inserted.some((row) => row.lockedBy === null && row.availableAt <= db.now())) {
        for (const listener of db.listeners) listener({})
      }
    })
  }
  yield 'pause'
  return results
}
