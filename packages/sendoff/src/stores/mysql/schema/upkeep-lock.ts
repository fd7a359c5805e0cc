import { hash } from 'node:crypto'
import type { MysqlSession } from '../drivers/mysql-driver.ts'
import type { MysqlTables } from './mysql-tables.ts'

/**
 * Runs work that only one process may do to a table at a time. Returns undefined if another process holds the
 * lock for this many seconds.
 */
export async function upkeepLock<Result>(
  session: MysqlSession,
  tables: MysqlTables,
  seconds: number,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const name = await lockName(session, tables)
  // ? name, ? seconds. The lock belongs to this connection, on which everything else runs, too.
  const { rows } = await session.run('select get_lock(?, ?)', [name, seconds])
  if (Number(rows[0]?.[0]) !== 1) return undefined
  try {
    return await work()
  } finally {
    await session.run('select release_lock(?)', [name])
  }
}

// Names of locks belong to the whole server, and have at most 64 characters.
async function lockName(session: MysqlSession, { database, table }: MysqlTables): Promise<string> {
  const { rows } = await session.run('select database()')
  return `sendoff.${hash('sha256', `${database ?? String(rows[0]?.[0])}.${table}`).slice(0, 40)}`
}
