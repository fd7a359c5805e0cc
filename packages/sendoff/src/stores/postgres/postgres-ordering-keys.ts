import {
  type BlockedKey,
  type BlockedKeyFilter,
  type OutboxOrderingKeys,
  parkKind,
} from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import { auditedRun, changedRow } from './audited-run.ts'
import type { PostgresDriver, PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readStoredRow } from './sql/row-columns.ts'
import { storable } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The ordering keys of a PostgreSQL store, for operators. */
export function postgresOrderingKeys<Tx extends object>(
  driver: PostgresDriver<Tx>,
  statements: PostgresStatements,
): OutboxOrderingKeys {
  const { retryKey, skipKey, pause, resume } = statements
  const control = auditedRun(driver, statements)
  const change = auditedRun(driver, statements, changedRow)
  return {
    blocked: (filter) => blockedKeys(driver, statements, filter),
    retry: async ({ orderingKey, destination = '' }, audit) =>
      (await change(retryKey, [orderingKey, destination], audit)).length > 0,
    async skip({ orderingKey, destination = '', reason }, audit) {
      const values = [orderingKey, destination, storedErrorText(storable(reason))]
      return (await change(skipKey, values, audit)).length > 0
    },
    park: async ({ orderingKey, destination }, audit) =>
      void (await control(pause, [parkKind(destination), orderingKey], audit)),
    unpark: async ({ orderingKey, destination }, audit) =>
      void (await control(resume, [parkKind(destination), orderingKey], audit)),
  }
}

async function blockedKeys(
  session: PostgresSession,
  { blockedKeys: statement }: PostgresStatements,
  { limit, after = '', destination = '' }: BlockedKeyFilter,
): Promise<readonly BlockedKey[]> {
  const values = [after, String(Math.max(0, limit)), destination, parkKind(destination)]
  return (await session.run(statement, values)).map(readBlockedKey)
}

function readBlockedKey([orderingKey, isParked, pending, ...head]: readonly Value[]): BlockedKey {
  return {
    orderingKey: orderingKey!,
    isParked: isParked === 't',
    head: head[0] === null ? undefined : readStoredRow(head),
    waiting: Math.max(0, Number(pending) - 1),
  }
}
