import { OutboxError } from '../../../errors.ts'
import { insideTransaction, refuseInsideTransaction } from '../../inside-transaction.ts'
import type { PostgresDriver, PostgresSession } from './postgres-driver.ts'
import { isConflict, isReadOnlyTransaction, readOnlyFailure } from '../postgres-errors.ts'

/** How many times to try a statement that the server undoes because of a conflict. */
const attempts = 5

/** The driver for the store's own statements. */
export interface OwnDriver<Tx extends object> extends PostgresDriver<Tx> {
  /** Makes the driver refuse every later call. */
  close(): void
}

/**
 * A driver for the statements of the engine itself, each a transaction of its own.
 *
 * If the server undid a statement because of a conflict (a deadlock, or serializable transactions), the
 * driver tries it again. None of it has happened. The engine repeats everything else. On a client with one
 * connection, the driver refuses a call that would wait for the transaction it is made in.
 */
export function ownDriver<Tx extends object>(driver: PostgresDriver<Tx>): OwnDriver<Tx> {
  const { onlyConnection } = driver
  let isClosed = false

  return {
    ...driver,

    async run(statement, values) {
      assertUsable()
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await driver.run(statement, values)
        } catch (error) {
          if (isReadOnlyTransaction(error)) throw await explainReadOnly(driver, error)
          if (attempt === attempts || !isConflict(error)) throw error
        }
      }
    },

    transaction(work, isolation) {
      assertUsable()
      return onlyConnection === undefined
        ? driver.transaction(work, isolation)
        : driver.transaction((tx) => insideTransaction(onlyConnection, () => work(tx)), isolation)
    },

    session: (tx) => driver.ownSession?.(tx) ?? driver.session(tx),

    close() {
      isClosed = true
    },
  }

  function assertUsable(): void {
    if (isClosed) {
      throw new OutboxError(
        'OUTBOX_CLOSED',
        'The PostgreSQL store is closed. Make a new one with postgresStore().',
      )
    }
    if (onlyConnection !== undefined) refuseInsideTransaction(onlyConnection)
  }
}

/** Returns the error for a refused write, with advice that fits the server. */
export async function explainReadOnly(session: PostgresSession, cause: unknown): Promise<unknown> {
  if (cause instanceof OutboxError) return cause
  const [row] = await session.run({ text: 'select pg_is_in_recovery()::text' }).catch(() => [])
  return readOnlyFailure(cause, row && row[0] === 'true')
}
