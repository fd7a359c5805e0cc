import { partitionOf } from '../../store/partition-of.ts'
import type { BlockedKey, BlockedKeyFilter, KeyLocks } from '../../store/index.ts'
import { storedErrorText } from '../../store/error-text.ts'
import type { PostgresSession, Value } from './drivers/postgres-driver.ts'
import { readStoredRow } from './sql/row-columns.ts'
import { numberArray, storable, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

export async function lockKeys(
  session: PostgresSession,
  statements: PostgresStatements,
  keys: KeyLocks,
): Promise<void> {
  if (keys === 'all') {
    await session.run(statements.lockAllKeys)
  } else if ('partitions' in keys) {
    if (keys.partitions.length > 0)
      await session.run(statements.lockPartitions, [numberArray(keys.partitions)])
  } else if (keys.length > 0) {
    await session.run(statements.lockKeys, [textArray(keys), numberArray(keys.map(partitionOf))])
  }
}

export async function blockedKeys(
  session: PostgresSession,
  { blockedKeys: statement }: PostgresStatements,
  { limit, after = '' }: BlockedKeyFilter,
): Promise<readonly BlockedKey[]> {
  return (await session.run(statement, [after, String(Math.max(0, limit))])).map(readBlockedKey)
}

export async function retryKey(
  session: PostgresSession,
  { retryKey: statement }: PostgresStatements,
  key: string,
): Promise<boolean> {
  return (await session.run(statement, [key])).length > 0
}

export async function skipKey(
  session: PostgresSession,
  { skipKey: statement }: PostgresStatements,
  key: string,
  reason: string,
): Promise<boolean> {
  return (await session.run(statement, [key, storedErrorText(storable(reason))])).length > 0
}

export async function parkKey(
  session: PostgresSession,
  { pause }: PostgresStatements,
  key: string,
): Promise<void> {
  await session.run(pause, ['park', key])
}

export async function unparkKey(
  session: PostgresSession,
  { resume }: PostgresStatements,
  key: string,
): Promise<void> {
  await session.run(resume, ['park', key])
}

function readBlockedKey([orderingKey, isParked, pending, ...head]: readonly Value[]): BlockedKey {
  return {
    orderingKey: orderingKey!,
    isParked: isParked === 't',
    head: head[0] === null ? undefined : readStoredRow(head),
    waiting: Math.max(0, Number(pending) - 1),
  }
}
