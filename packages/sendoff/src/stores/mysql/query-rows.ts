import { EventStatus } from '../../store/event-status.ts'
import type { CountFilter, FailedAttempt, RowFilter, RowId, StoredRow } from '../../store/index.ts'
import type { MysqlSession, Value } from './drivers/mysql-driver.ts'
import { readStoredRow, textOf } from './sql/row-columns.ts'
import { pendingQueues } from './sql/row-conditions.ts'
import { rowLimit } from './sql/row-limit.ts'
import { numberList } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'
import type { RowSource } from './sql/upkeep-statements.ts'

/** Returns the rows that match, in write order. */
export async function queryRows(
  session: MysqlSession,
  { query }: MysqlStatements,
  filter: RowFilter,
): Promise<readonly StoredRow[]> {
  if (filter.eventIds?.length === 0) return []
  const source = sourceOf(filter)
  const { condition, values } = matching(filter, filter.afterSeq)
  const { rows } = await session.run(
    query(source, condition, rowLimit(filter.limit)),
    valuesFor(source, values),
  )
  return rows.map(readStoredRow)
}

/** Returns how many rows match. */
export async function countRows(
  session: MysqlSession,
  { count }: MysqlStatements,
  filter: CountFilter,
): Promise<number> {
  const source = sourceOf(filter)
  const { condition, values } = matching(filter)
  const { rows } = await session.run(count(source, condition), valuesFor(source, values))
  return Number(rows[0]![0])
}

/** Returns the failed attempts at one row, oldest first. */
export async function failedAttempts(
  session: MysqlSession,
  { attempts: statement }: MysqlStatements,
  { eventId, destination }: RowId,
): Promise<readonly FailedAttempt[]> {
  const { rows } = await session.run(statement, [eventId, destination])
  return rows.map(([attempts, failedAt, error, lockedBy]) => ({
    attempts: Number(attempts),
    failedAt: Number(failedAt),
    error: String(error),
    lockedBy: textOf(lockedBy),
  }))
}

function sourceOf({ eventId, eventIds, status }: MatchFilter): RowSource {
  if (eventId !== undefined || eventIds !== undefined) return 'event'
  if (status === undefined || status.length === 0) return 'all'
  if (status.every((code) => code === EventStatus.DEAD)) return 'dead'
  return status.every((code) => code === EventStatus.NEW || code === EventStatus.RETRY) ? 'pending' : 'all'
}

// Pending rows are in several places of their index, and each place needs the parameters.
function valuesFor(source: RowSource, values: readonly Value[]): readonly Value[] {
  return source === 'pending' ? pendingQueues.flatMap(() => values) : values
}

type MatchFilter = Omit<RowFilter, 'limit' | 'afterSeq'>

/** The condition called `matching` and its parameters. */
function matching(filter: MatchFilter, afterSeq?: number): { condition: string; values: Value[] } {
  const { status, eventIds } = filter
  const columns: readonly [column: string, value: string | undefined][] = [
    ['event_id', filter.eventId],
    ['event_type', filter.eventType],
    ['aggregate_type', filter.aggregateType],
    ['aggregate_id', filter.aggregateId],
    ['tenant_id', filter.tenantId],
    ['destination', filter.destination],
  ]
  const given = columns.flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]))
  const conditions = given.map(({ column }) => `${column} = ?`)
  if (status !== undefined)
    conditions.push(status.length === 0 ? 'false' : `status in (${numberList(status)})`)
  const values: Value[] = given.map(({ value }) => value)
  if (eventIds !== undefined) {
    conditions.push(`event_id in (${eventIds.map(() => '?').join()})`)
    values.push(...eventIds)
  }
  if (afterSeq !== undefined) {
    conditions.push('seq > ?')
    values.push(afterSeq)
  }
  return { condition: conditions.join(' and ') || 'true', values }
}
