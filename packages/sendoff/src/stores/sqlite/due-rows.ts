import { type ReadRow, readRow } from './sql/row-columns.ts'
import { type DueRequest, dueWithin } from './sql/statement-values.ts'
import type { PreparedStatements } from './sql/statements.ts'

/** Whether a claim or poll would find anything. */
export function isAnyDue(statements: PreparedStatements, request: DueRequest, now: number): boolean {
  return statements.anyDue.get(...dueWithin(request, now), now) !== undefined
}

/** Returns due rows that no process holds, in due order. */
export function dueRows(statements: PreparedStatements, request: DueRequest, now: number): ReadRow[] {
  return statements.due.all(...dueWithin(request, now), now, Math.max(0, request.limit)).map(readRow)
}
