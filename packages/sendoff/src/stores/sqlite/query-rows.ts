import type { FailedAttempt, RowFilter, RowKey, StoredRow } from '../../store.ts'
import { readStoredRow } from './row-columns.ts'
import type { SqliteValue } from './sqlite-client.ts'
import type { PreparedStatements } from './statements.ts'

const anyStatus = [0, 1, 2, 3] as const

export function queryRows(statements: PreparedStatements, filter: RowFilter): readonly StoredRow[] {
  const { eventId, afterSeq = 0, limit } = filter
  const parameters = [afterSeq, ...matching(filter), Math.max(0, limit)]

  const rows =
    eventId === undefined
      ? statements.query.all(...parameters)
      : statements.queryEvent.all(eventId, ...parameters)
  return rows.map(readStoredRow)
}

export function countRows(
  statements: PreparedStatements,
  filter: Omit<RowFilter, 'limit' | 'afterSeq'>,
): number {
  const { eventId } = filter
  const parameters = matching(filter)

  const row =
    eventId === undefined
      ? statements.count.get(...parameters)
      : statements.countEvent.get(eventId, ...parameters)
  return (row as { count: number }).count
}

export function failedAttempts(statements: PreparedStatements, key: RowKey): readonly FailedAttempt[] {
  const rows = statements.attempts.all(key.eventId, key.destination) as FailedAttempt[]
  return rows.map((row) => ({ ...row }))
}

// The parameters called `matching` in the statements.
function matching(filter: Omit<RowFilter, 'limit'>): SqliteValue[] {
  const { status = anyStatus, eventType = null, aggregateType = null } = filter
  const statusMask = status.reduce<number>((mask, code) => mask | (1 << code), 0)

  return [statusMask, eventType, eventType, aggregateType, aggregateType]
}
