import type { OutboxPeople } from '../../store/index.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The rows of a PostgreSQL store, for operators. */
export function postgresPeople(session: PostgresSession, statements: PostgresStatements): OutboxPeople {
  return {
    query: (filter) => queryRows(session, statements, filter),
    count: (filter) => countRows(session, statements, filter),
    attempts: (row) => failedAttempts(session, statements, row),
  }
}
