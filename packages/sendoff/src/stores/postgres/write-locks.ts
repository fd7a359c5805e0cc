import { partitionOf } from '../../store/partition-of.ts'
import type { KeyLocks } from '../../store/index.ts'
import type { PostgresSession } from './drivers/postgres-driver.ts'
import { numberArray, textArray } from './sql/statement-values.ts'
import type { PostgresStatements } from './sql/statements.ts'

/** Locks ordering keys for a writer, until the end of its transaction. */
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
