import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Drizzle database that is used here, whatever its driver. */
export interface DrizzleDatabase<Tx, Options> {
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>
}

/** The part of a Drizzle transaction that is used here. */
export interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>
  rollback(): never
}

/**
 * Drizzle's transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet with most drivers, such as node-postgres,
 * Drizzle resolves. So the outbox asks the database for the events before it dispatches them.
 */
export function drizzleTransactions<Tx extends DrizzleTransaction, Options>(
  db: DrizzleDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  // Drizzle does not notice the end of a transaction: its next statement would run in whichever transaction
  // then uses the connection.
  const ended = new WeakSet<Tx>()

  return {
    transaction(work, within, options) {
      const running = async (tx: Tx) => {
        try {
          return await work(tx)
        } finally {
          ended.add(tx)
        }
      }
      return within === undefined
        ? db.transaction(running, options)
        : (within as unknown as DrizzleDatabase<Tx, never>).transaction(running)
    },

    storeTx(tx) {
      if (typeof tx.rollback !== 'function' || ended.has(tx)) throw noTransaction()
      return {
        query: async (text, values) => {
          try {
            return { rows: rowsOf(await tx.execute(queryOf(text, values))) }
          } catch (error) {
            throw withoutValues(error)
          }
        },
      }
    },
  }
}

// Drizzle asks a query for its SQL, and the SQL for its text in the dialect. This text is already in the
// dialect.
function queryOf(text: string, values: readonly unknown[]): never {
  const query = { getSQL: () => ({ toQuery: () => ({ sql: text, params: values }) }) }
  return query as never
}

// Drizzle's own error repeats the statement with all of its values, including the payload. Its cause is the
// driver's error.
function withoutValues(error: unknown): unknown {
  return error instanceof Error && 'params' in error && error.cause instanceof Error ? error.cause : error
}

// node-postgres and PGlite return an object with rows, postgres.js the rows, and mysql2 a pair of rows and
// fields.
function rowsOf(answer: unknown): readonly unknown[] {
  if (!Array.isArray(answer)) return (answer as { readonly rows: readonly unknown[] }).rows
  return Array.isArray(answer[0]) ? answer[0] : answer
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This Drizzle handle has no open transaction: it is the database itself, or its transaction has ended. ' +
      'Hand over the tx of db.transaction(async (tx) => { … }) while it is open, or write inside outbox.transaction().',
  )
}
