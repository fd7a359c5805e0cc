import type { BlockedKey, BlockedKeyFilter, OutboxOrderingKeys, SkipRequest } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readStoredRow } from './sql/row-columns.ts'
import { storable } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** The ordering keys of a PostgreSQL store, for operators. */
export function postgresOrderingKeys(
  session: PostgresSession,
  statements: PostgresStatements,
): OutboxOrderingKeys {
  return {
    blocked: (filter) => blockedKeys(session, statements, filter),
    retry: (orderingKey) => retryKey(session, statements, orderingKey),
    skip: (request) => skipHead(session, statements, request),
    park: (orderingKey) => parkKey(session, statements, orderingKey),
    unpark: (orderingKey) => unparkKey(session, statements, orderingKey),
  }
}

async function blockedKeys(
  session: PostgresSession,
  { blockedKeys: statement }: PostgresStatements,
  { limit, after = '' }: BlockedKeyFilter,
): Promise<readonly BlockedKey[]> {
  return (await session.run(statement, [after, String(Math.max(0, limit))])).map(readBlockedKey)
}

async function retryKey(
  session: PostgresSession,
  { retryKey: statement }: PostgresStatements,
  orderingKey: string,
): Promise<boolean> {
  return (await session.run(statement, [orderingKey])).length > 0
}

async function skipHead(
  session: PostgresSession,
  { skipKey: statement }: PostgresStatements,
  { orderingKey, reason }: SkipRequest,
): Promise<boolean> {
  return (await session.run(statement, [orderingKey, storedErrorText(storable(reason))])).length > 0
}

async function parkKey(
  session: PostgresSession,
  { pause }: PostgresStatements,
  orderingKey: string,
): Promise<void> {
  await session.run(pause, ['park', orderingKey])
}

async function unparkKey(
  session: PostgresSession,
  { resume }: PostgresStatements,
  orderingKey: string,
): Promise<void> {
  await session.run(resume, ['park', orderingKey])
}

function readBlockedKey([orderingKey, isParked, pending, ...head]: readonly Value[]): BlockedKey {
  return {
    orderingKey: orderingKey!,
    isParked: isParked === 't',
    head: head[0] === null ? undefined : readStoredRow(head),
    waiting: Math.max(0, Number(pending) - 1),
  }
}
