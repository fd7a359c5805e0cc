import { type ReadRow, readRow } from './sql/row-columns.ts'
import { destinationValues, type DueRequest, dueWithin } from './sql/statement-values.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Whether a claim or poll would find anything. */
export function isAnyDue(statements: PreparedStatements, request: DueRequest, now: number): boolean {
  return statements.anyDue.get(...dueWithin(request, now), now, ...destinationValues(request)) !== undefined
}

/** Returns due rows that no process holds, in due order. */
export function dueRows(statements: PreparedStatements, request: DueRequest, now: number): ReadRow[] {
  const wanted = [...dueWithin(request, now), now, ...destinationValues(request)]
  return statements.due.all(...wanted, Math.max(0, request.limit)).map(readRow)
}
