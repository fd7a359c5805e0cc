import type { KeyLocks } from '../../store/index.ts'
import { partitionCount, partitionOf } from '../../store/partition-of.ts'
import type { CallersSession } from './drivers/mysql-driver.ts'
import { placeholders } from './sql/statement-values.ts'
import type { MysqlStatements } from './sql/statements.ts'

const allKeys = 'write/all'

/** The locks of writers as rows of an INSERT. They have no owner: a writer locks the row itself. */
export const writeLockRows = [...Array.from({ length: partitionCount }, (_, index) => lockOf(index)), allKeys]
  .map((name) => `('${name}', '', '1970-01-01')`)
  .join(', ')

/**
 * Locks ordering keys until the end of the caller's transaction, all keys of a partition together. Each
 * partition has a row, and the store locks these rows in the order of their names.
 */
export async function lockKeys(
  session: CallersSession,
  statements: MysqlStatements,
  keys: KeyLocks,
): Promise<void> {
  const names = [...new Set(namesOf(keys))].sort()
  if (names.length === 0) return

  await session.assertInTransaction?.()
  const { rows } = await session.run(statements.lockNames(placeholders(names.length)), names)
  // If rows were deleted by hand, we make them again: without them nothing would be locked.
  if (rows.length < names.length) await session.run(statements.makeLocks(names.length), names)
}

function namesOf(keys: KeyLocks): readonly string[] {
  if (keys === 'all') return [allKeys]
  return 'partitions' in keys ? keys.partitions.map(lockOf) : keys.map((key) => lockOf(partitionOf(key)))
}

function lockOf(partition: number): string {
  return `write/${String(partition).padStart(3, '0')}`
}
