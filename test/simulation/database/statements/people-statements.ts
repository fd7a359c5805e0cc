import { asStoredRow } from '../../../../packages/sendoff/src/stores/memory/memory-row.ts'
import type { RowFilter, StoredRow } from '../../../../packages/sendoff/src/store/index.ts'
import type { SimulatedDatabase } from '../simulated-database.ts'
import type { Program } from '../transaction.ts'

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

function matching(db: SimulatedDatabase, filter: Omit<RowFilter, 'limit'>): StoredRow[] {
  const { status, eventType, aggregateType, aggregateId, tenantId, eventId, eventIds } = filter
  const { destination, afterSeq = 0 } = filter
  return Array.from(db.events.values(), ({ committed }) => committed)
    .filter((row) => row !== undefined)
    .filter((row) => eventIds === undefined || eventIds.includes(row.eventId))
    .filter((row) => row.seq > afterSeq)
    .filter((row) => status === undefined || status.includes(row.status))
    .filter((row) => eventType === undefined || row.eventType === eventType)
    .filter((row) => aggregateType === undefined || row.aggregateType === aggregateType)
    .filter((row) => aggregateId === undefined || row.aggregateId === aggregateId)
    .filter((row) => tenantId === undefined || row.tenantId === tenantId)
    .filter((row) => destination === undefined || row.destination === destination)
    .filter((row) => eventId === undefined || row.eventId === eventId)
    .sort((a, b) => a.seq - b.seq)
}
