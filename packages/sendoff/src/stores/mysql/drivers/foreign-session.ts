import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'
import type { SqlTx } from '../../../transactions.ts'
import { Mutex } from '../../mutex.ts'
import { isUnknownSavepoint, noLongerOpen } from '../mysql-errors.ts'
import type { CallersSession } from './mysql-driver.ts'

/** Runs statements through any handle that has `query(text, values)`. */
export function foreignSession(tx: object): CallersSession {
  if (!('query' in tx && typeof tx.query === 'function') || 'getConnection' in tx) throw noTransaction(tx)

  const session: CallersSession = {
    async run(text, values = []) {
      const { rows } = await (tx as SqlTx).query(text, [...values])
      return { rows: Array.isArray(rows) ? rows.map(columnsOf) : [] }
    },

    async assertInTransaction() {
      if (!(await isInTransaction(tx, session))) throw noLongerOpen()
    },
  }
  return session
}

// Writes side by side in one transaction ask one after another. To release the savepoint of one is to release
// those of the others, and they would take the transaction for ended.
const probes = new WeakMap<object, Mutex>()

/**
 * Whether a transaction is open, for handles that do not say. MariaDB reports it in an expression inside a
 * comment, which MySQL ignores. In MySQL, a savepoint outside of a transaction is gone after the statement
 * that set it.
 */
export async function isInTransaction(tx: object, session: CallersSession): Promise<boolean> {
  const { rows } = await session.run(
    'select coalesce(/*M! @@in_transaction or not @@autocommit, */ null) as answer',
  )
  const answer = rows[0]?.[0] ?? null
  if (answer !== null) return Number(answer) === 1

  const probe = probes.get(tx) ?? new Mutex()
  probes.set(tx, probe)
  try {
    await probe.run(() => emptySavepoint(tx, session))
    return true
  } catch (error) {
    if (isUnknownSavepoint(error)) return false
    throw error
  }
}

async function emptySavepoint(tx: Partial<SqlTx>, session: CallersSession): Promise<void> {
  if (tx.inSavepoint !== undefined) return tx.inSavepoint(async () => {})
  await session.run('savepoint sendoff_probe')
  await session.run('release savepoint sendoff_probe')
}

// The columns keep the order of the statement, whatever the caller's settings name them. For a statement that
// returns no columns, adapters may still return something of their own.
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
