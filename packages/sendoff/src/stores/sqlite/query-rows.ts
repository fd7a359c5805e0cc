import { EventStatus } from '../../store/event-status.ts'
import type { CountFilter, FailedAttempt, RowFilter, RowId, StoredRow } from '../../store/index.ts'
import type { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteValue } from './drivers/sqlite-client.ts'
import { readStoredRow } from './sql/row-columns.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Returns the rows that match, in write order. */
export function queryRows(own: OwnDriver, filter: RowFilter): Promise<readonly StoredRow[]> {
  return own.read((statements) => matchingRows(statements, filter))
}

/** Returns how many rows match. */
export function countRows(own: OwnDriver, filter: CountFilter): Promise<number> {
  return own.read((statements) => matchingCount(statements, filter))
}

/** Returns the failed attempts at one row, oldest first. */
export function failedAttempts(
  own: OwnDriver,
  { eventId, destination }: RowId,
): Promise<readonly FailedAttempt[]> {
  return own.read(({ attempts }) => {
    const rows = attempts.all(eventId, destination) as FailedAttempt[]
    return rows.map((row) => ({ ...row }))
  })
}

function matchingRows(statements: PreparedStatements, filter: RowFilter): readonly StoredRow[] {
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

function matchingCount(statements: PreparedStatements, filter: CountFilter): number {
  const { eventId } = filter
  const parameters = matching(filter)

  const find = () => {
    if (eventId !== undefined) return statements.countEvent.get(eventId, statusMask(filter), ...parameters)
    if (isDeadOnly(filter)) return statements.countDead.get(...parameters)
    return statements.count.get(statusMask(filter), ...parameters)
  }
  return (find() as { count: number }).count
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
  const { eventType, aggregateType, aggregateId, tenantId, destination } = filter
  const values = [eventType, aggregateType, aggregateId, tenantId, destination]
  return values.flatMap((value) => [value ?? null, value ?? null])
}
