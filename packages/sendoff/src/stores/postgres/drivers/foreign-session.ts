import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import type { ForeignTransaction } from './postgres-client.ts'
import { needsTransaction, serverErrorOf } from '../postgres-errors.ts'
import type { PostgresSession, Statement } from './postgres-driver.ts'
import { asText } from './postgres-driver.ts'

/** Runs statements through any handle that has `query(text, values)` or `unsafe(text, values)`. */
export function foreignSession(tx: object): PostgresSession {
  const handle = tx as ForeignTransaction
  if ('query' in handle && typeof handle.query === 'function') {
    return {
      async run({ text }, values = []) {
        const { rows } = await handle.query(text, [...values])
        return rows.map(columnsOf)
      },
    }
  }
  if ('unsafe' in handle && typeof handle.unsafe === 'function') {
    return {
      run: async ({ text }, values = []) => (await handle.unsafe(text, [...values])).map(columnsOf),
    }
  }
  throw new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    `A PostgreSQL transaction needs query(text, values) or unsafe(text, values); this is ${kindOf(tx)}. ` +
      'Hand over the handle that the transaction was opened with, or use the adapter of your ORM.',
  )
}

/**
 * Whether a transaction is open on a session, for handles that do not know it themselves. Asks the server.
 */
export async function isInTransaction(
  session: PostgresSession,
  assertTransaction: Statement,
): Promise<boolean> {
  try {
    await session.run(assertTransaction)
    return true
  } catch (error) {
    if (needsTransaction(error)) return false
    // A failed transaction counts as open: the insert will say what is wrong with it.
    if (serverErrorOf(error) !== undefined) return true
    throw error
  }
}

// The columns keep the order of the statement, whatever the caller's parsers name them.
function columnsOf(row: unknown): (string | null)[] {
  return (Array.isArray(row) ? (row as unknown[]) : Object.values(row as object)).map(asText)
}
