import { type ReadRow, readRow } from './sql/row-columns.ts'
import { destinationValues, type DueRequest, dueWithin } from './sql/statement-values.ts'
import type { SqliteValue } from './drivers/sqlite-client.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Whether a claim or poll would find anything. */
export function isAnyDue(
  statements: PreparedStatements,
  request: DueRequest,
  now: number,
  byDestination: boolean,
): boolean {
  const wanted = wantedValues(request, now, byDestination)
  return (byDestination ? statements.anyDueOf : statements.anyDue).get(...wanted) !== undefined
}

/** Returns due rows that no process holds, in due order. */
export function dueRows(
  statements: PreparedStatements,
  request: DueRequest,
  now: number,
  byDestination: boolean,
): ReadRow[] {
  const wanted = wantedValues(request, now, byDestination)
  const statement = byDestination ? statements.dueOf : statements.due
  return statement.all(...wanted, Math.max(0, request.limit)).map(readRow)
}

function wantedValues(request: DueRequest, now: number, byDestination: boolean): SqliteValue[] {
  const within = [...dueWithin(request, now), now]
  return byDestination ? [request.destination!, ...within] : [...within, ...destinationValues(request)]
}
