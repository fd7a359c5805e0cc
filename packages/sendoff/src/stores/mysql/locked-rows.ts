import type { MysqlSession, Rows, Value } from './drivers/mysql-driver.ts'
import type { LockingRead } from './sql/locking-read.ts'

/**
 * Locks the rows of a read in the transaction of the session, and returns them.
 *
 * If the server skips locked rows, one statement does it. If not, the first statement reads keys without
 * locking anything, so that it waits neither for writers nor for other workers. The second one locks these
 * rows by their keys, and leaves out those that another process has taken meanwhile.
 */
export async function lockedRows(
  session: MysqlSession,
  skipsLocked: boolean,
  read: LockingRead,
  values: readonly Value[],
): Promise<Rows> {
  if (skipsLocked) return (await session.run(read.skipping, values)).rows

  const { rows } = await session.run(read.candidates(0), values)
  if (rows.length === 0) return []
  return (await session.run(read.byKeys(rows.map(([key]) => Number(key))), values)).rows
}
