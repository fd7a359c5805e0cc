import { EventStatus } from '../../store/event-status.ts'
import type { CountFilter, FailedAttempt, RowFilter, RowId, StoredRow } from '../../store/index.ts'
import { readStoredRow } from './sql/row-columns.ts'
import type { SqliteValue } from './drivers/sqlite-client.ts'
import type { PreparedStatements } from './sql/statements.ts'

export function queryRows(statements: PreparedStatements, filter: RowFilter): readonly StoredRow[] {
  const { eventId, afterSeq = 0, limit } = filter
  const eventIds = eventId === undefined ? filter.eventIds : [eventId]
  const parameters = [...matching(filter), afterSeq, Math.max(0, limit)]

  const find = () => {
    if (eventIds !== undefined) {
      return statements.queryEvents.all(JSON.stringify(eventIds), statusMask(filter), ...parameters)
    }
    if (isDeadOnly(filter)) return statements.queryDead.all(...parameters)
    return statements.query.all(statusMask(filter), ...parameters)
  }
  return find().map(readStoredRow)
}

export function countRows(statements: PreparedStatements, filter: CountFilter): number {
  const { eventId } = filter
  const parameters = matching(filter)

  const find = () => {
    if (eventId !== undefined) return statements.countEvent.get(eventId, statusMask(filter), ...parameters)
    if (isDeadOnly(filter)) return statements.countDead.get(...parameters)
    return statements.count.get(statusMask(filter), ...parameters)
  }
  return (find() as { count: number }).count
}

export function failedAttempts(statements: PreparedStatements, key: RowId): readonly FailedAttempt[] {
  const rows = statements.attempts.all(key.eventId, key.destination) as FailedAttempt[]
  return rows.map((row) => ({ ...row }))
}

function isDeadOnly({ status }: CountFilter): boolean {
  return status !== undefined && status.length > 0 && status.every((code) => code === EventStatus.DEAD)
}

// The parameter called `inStatus` in the statements.
function statusMask({ status = Object.values(EventStatus) }: CountFilter): number {
  return status.reduce<number>((mask, code) => mask | (1 << code), 0)
}

// The parameters called `matching` in the statements.
function matching(filter: CountFilter): SqliteValue[] {
  const { eventType = null, aggregateType = null, aggregateId = null, tenantId = null } = filter
  return [eventType, aggregateType, aggregateId, tenantId].flatMap((value) => [value, value])
}
