import type { AuditEntry, NewAuditEntry, RowId } from '../../store/index.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Adds an audit entry about rows, and returns its id. */
export function addEntry(
  statements: PreparedStatements,
  entry: NewAuditEntry,
  rows: readonly RowId[],
  now: number,
  affected = rows.length,
): string {
  const { actor, action, detail = null, plan = null, state = null, progress = null } = entry
  const updatedAt = plan === null ? null : now
  const values = [now, actor, action, detail, plan, state, affected, progress, updatedAt]
  const { id } = statements.addAudit.get(...values) as { id: number }
  addEntryRows(statements, id, rows)
  return String(id)
}

/** Records which rows an audit entry is about. */
export function addEntryRows(
  { addAuditEvent }: PreparedStatements,
  id: number,
  rows: readonly RowId[],
): void {
  for (const { eventId, destination } of rows) addAuditEvent.run(id, eventId, destination)
}

/** Makes an audit entry from its row. */
export function readEntry(row: unknown): AuditEntry {
  const { id, affected, ...rest } = row as Omit<AuditEntry, 'id' | 'affected'> & {
    readonly id: number
    readonly affected: number | null
  }
  return { ...rest, id: String(id), affected: affected ?? 0 }
}
