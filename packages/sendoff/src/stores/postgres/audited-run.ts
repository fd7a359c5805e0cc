import type { NewAuditEntry, RowId } from '../../store/index.ts'
import { recordEntry } from '../sql/run-action.ts'
import type { PostgresDriver, Statement, Value } from './drivers/postgres-driver.ts'
import { actionSteps } from './postgres-actions.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Runs a statement of an operator. With an audit entry, both are one transaction. */
export type AuditedRun = (
  statement: Statement,
  values: readonly Value[],
  audit: NewAuditEntry | undefined,
) => Promise<readonly (readonly Value[])[]>

/** Makes an `AuditedRun` for statements that always change something. Their answers name no rows. */
export function auditedRun<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
  rowsOf: (answer: readonly (readonly Value[])[]) => readonly RowId[] | undefined = () => [],
): AuditedRun {
  return (statement, values, audit) => {
    if (audit === undefined) return driver.run(statement, values)

    return driver.transaction(async (tx) => {
      const session = driver.session(tx)
      const answer = await session.run(statement, values)
      const rows = rowsOf(answer)
      if (rows !== undefined) await recordEntry(actionSteps(session, statements), audit, rows)
      return answer
    })
  }
}

/** Reads the row that a statement has changed; undefined if it changed none. */
export function changedRow(answer: readonly (readonly Value[])[]): readonly RowId[] | undefined {
  const rows = answer.map(([eventId, destination]) => ({ eventId: eventId!, destination: destination! }))
  return rows.length === 0 ? undefined : rows
}
