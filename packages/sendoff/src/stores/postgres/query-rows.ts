import { EventStatus } from '../../store/event-status.ts'
import type { CountFilter, FailedAttempt, RowFilter, RowId, StoredRow } from '../../store/index.ts'
import type { PostgresSession, Statement, Value } from './drivers/postgres-driver.ts'
import { readStoredRow } from './sql/row-columns.ts'
import { numberArray, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Returns the rows that match, in write order. */
export async function queryRows(
  session: PostgresSession,
  statements: PostgresStatements,
  filter: RowFilter,
): Promise<readonly StoredRow[]> {
  const { eventId, afterSeq = 0, limit } = filter
  const eventIds = eventId === undefined ? filter.eventIds : [eventId]
  const values = [...matching(filter), String(afterSeq), String(Math.max(0, limit))]
  const answer =
    eventIds === undefined
      ? await session.run(queryFor(statements, filter), values)
      : await session.run(statements.queryEvents, [...values, textArray(eventIds)])
  return answer.map(readStoredRow)
}

/** Returns how many rows match. */
export async function countRows(
  session: PostgresSession,
  statements: PostgresStatements,
  filter: CountFilter,
): Promise<number> {
  const { eventId } = filter
  const values = matching(filter)
  const answer =
    eventId === undefined
      ? await session.run(countFor(statements, filter), values)
      : await session.run(statements.countEvent, [...values, eventId])
  return Number(answer[0]![0])
}

/** Returns the failed attempts at one row, oldest first. */
export async function failedAttempts(
  session: PostgresSession,
  { attempts: statement }: PostgresStatements,
  { eventId, destination }: RowId,
): Promise<readonly FailedAttempt[]> {
  const answer = await session.run(statement, [eventId, destination])
  return answer.map(([attempts, failedAt, error, lockedBy]) => ({
    attempts: Number(attempts),
    failedAt: Number(failedAt),
    error: error!,
    lockedBy: lockedBy!,
  }))
}

function queryFor(statements: PostgresStatements, filter: CountFilter): Statement {
  if (isWithin(filter, [EventStatus.DEAD])) return statements.queryDead
  return isWithin(filter, pendingStates) ? statements.queryPending : statements.query
}

function countFor(statements: PostgresStatements, filter: CountFilter): Statement {
  if (isWithin(filter, [EventStatus.DEAD])) return statements.countDead
  return isWithin(filter, pendingStates) ? statements.countPending : statements.count
}

const pendingStates: readonly EventStatus[] = [EventStatus.NEW, EventStatus.RETRY]

function isWithin({ status }: CountFilter, states: readonly EventStatus[]): boolean {
  return status !== undefined && status.length > 0 && status.every((code) => states.includes(code))
}

// The parameters called `matching` in the statements.
function matching(filter: CountFilter): Value[] {
  const {
    status = Object.values(EventStatus),
    eventType,
    aggregateType,
    aggregateId,
    tenantId,
    destination,
  } = filter
  return [
    numberArray(status),
    eventType ?? null,
    aggregateType ?? null,
    aggregateId ?? null,
    tenantId ?? null,
    destination ?? null,
  ]
}
