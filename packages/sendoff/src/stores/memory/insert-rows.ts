import type { InsertResult, Lease, NewRow } from '../../store/index.ts'
import { duplicateEventId } from '../../store/duplicate-event-id.ts'
import type { MemoryRow } from './memory-row.ts'
import { rowIdText, newMemoryRow } from './memory-row.ts'
import type { KeyUse, MemoryTx } from './memory-transaction.ts'

/** Adds rows to the transaction, all or none. */
export function insertRows(
  tx: MemoryTx,
  rows: readonly NewRow[],
  lease: Lease | undefined,
  now: number,
  nextSeq: () => number,
): readonly InsertResult[] {
  const added = new Map<string, MemoryRow>()
  const usedKeys = new Map<string, KeyUse>()

  const results = rows.map((row): InsertResult => {
    const { idempotencyKey, eventId } = row
    if (idempotencyKey !== null) {
      const usedHere = usedKeys.get(idempotencyKey)
      const used = usedHere ?? tx.findIdempotencyKey(idempotencyKey)
      // An event that fans out is several rows with one idempotency key, written together. They are not
      // duplicates of each other.
      if (used !== undefined && usedHere?.eventId !== eventId)
        return { kind: 'duplicate', eventId: used.eventId }
      usedKeys.set(idempotencyKey, { eventId, createdAt: now })
    }

    const id = rowIdText(row)
    if (added.has(id) || tx.findRow(id) !== undefined) throw duplicateEventId(row)
    const inserted = newMemoryRow(row, nextSeq(), lease, now)
    added.set(id, inserted)
    return { kind: 'inserted', seq: inserted.seq, deliveries: inserted.deliveries, certain: true }
  })

  tx.keep(added, usedKeys)
  return results
}
