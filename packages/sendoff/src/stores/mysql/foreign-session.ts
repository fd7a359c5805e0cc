import { OutboxError } from '../../errors.ts'
import { kindOf } from '../../options.ts'
import type { SqlTx } from '../../transactions.ts'
import type { CallersSession } from './mysql-driver.ts'
import { isUnknownSavepoint, serverErrorOf } from './mysql-errors.ts'

/** Runs statements through any handle that has `query(text, values)`. */
export function foreignSession(tx: object): CallersSession {
  if (!('query' in tx && typeof tx.query === 'function') || 'getConnection' in tx) throw noTransaction(tx)

  return {
    async run(text, values = []) {
      const { rows } = await (tx as SqlTx).query(text, [...values])
      return { rows: Array.isArray(rows) ? rows.map(columnsOf) : [] }
    },
  }
}

/**
 * Whether a transaction is open, for handles that cannot tell: outside of one, a savepoint is gone with the
 * statement that has set it. MariaDB can be asked.
 */
export async function isInTransaction(session: CallersSession): Promise<boolean> {
  try {
    const { rows } = await session.run('select @@in_transaction')
    return Number(rows[0]?.[0]) === 1
  } catch (error) {
    // 1193: MySQL has no such variable.
    if (serverErrorOf(error)?.errno !== 1193) throw error
  }
  try {
    await session.run('savepoint sendoff_probe')
    await session.run('release savepoint sendoff_probe')
    return true
  } catch (error) {
    if (isUnknownSavepoint(error)) return false
    throw error
  }
}

// Whatever its columns are called by then, they are in the order of the statement. Where a statement answers
// none, adapters may still say something of their own.
function columnsOf(row: unknown): readonly unknown[] {
  return Array.isArray(row) ? (row as unknown[]) : Object.values(row ?? {})
}

function noTransaction(tx: object): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    `A MySQL transaction needs query(text, values) on one connection; this is ${kindOf(tx)}. ` +
      'Hand over the connection that the transaction was begun on, or use the adapter of your ORM.',
  )
}
