import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import type { ForeignTransaction } from './postgres-client.ts'
import type { PostgresSession } from './postgres-driver.ts'
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

// Whatever its columns are called by then, they are in the order of the statement.
function columnsOf(row: unknown): (string | null)[] {
  return (Array.isArray(row) ? (row as unknown[]) : Object.values(row as object)).map(asText)
}
