import { replayedFields } from '../../../../packages/sendoff/src/stores/memory/replay-rows.ts'
import { asStoredRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import {
  EventStatus,
  type RowFilter,
  type RowId,
  type StoredRow,
} from '../../../../packages/sendoff/src/store/index.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { DatabaseTransaction, Program } from '../transaction.ts'

/** Reads rows for operators, in write order. */
export function* queryRows(db: SimulatedDatabase, filter: RowFilter): Program<readonly StoredRow[]> {
  const rows = matching(db, filter).slice(0, Math.max(0, filter.limit))
  yield 'pause'
  return rows.map(asStoredRow)
}

/** Counts rows. */
export function* countRows(db: SimulatedDatabase, filter: Omit<RowFilter, 'limit'>): Program<number> {
  const { length } = matching(db, filter)
  yield 'pause'
  return length
}

/** Replays DEAD rows. Returns how many. */
export function* replayRows(
  db: SimulatedDatabase,
  tx: DatabaseTransaction,
  ids: readonly RowId[],
): Program<number> {
  yield 'pause'
  let count = 0
  for (const cell of new Set(ids.map((id) => db.eventCell(id)))) {
    yield* tx.lock(cell, 'noKeyUpdate')
    const row = cell.committed
    if (row?.status !== EventStatus.DEAD) continue
    db.writeEvent(tx, cell, { ...row, ...replayedFields(row, Math.floor(db.now())) })
    count += 1
  }
  yield 'pause'
  return count
}

function matching(db: SimulatedDatabase, filter: Omit<RowFilter, 'limit'>): StoredRow[] {
  const { status, eventType, aggregateType, aggregateId, tenantId, eventId, eventIds, afterSeq = 0 } = filter
  return Array.from(db.events.values(), ({ committed }) => committed)
    .filter((row) => row !== undefined)
    .filter((row) => eventIds === undefined || eventIds.includes(row.eventId))
    .filter((row) => row.seq > afterSeq)
    .filter((row) => status === undefined || status.includes(row.status))
    .filter((row) => eventType === undefined || row.eventType === eventType)
    .filter((row) => aggregateType === undefined || row.aggregateType === aggregateType)
    .filter((row) => aggregateId === undefined || row.aggregateId === aggregateId)
    .filter((row) => tenantId === undefined || row.tenantId === tenantId)
    .filter((row) => eventId === undefined || row.eventId === eventId)
    .sort((a, b) => a.seq - b.seq)
}
