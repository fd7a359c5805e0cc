import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Sequelize instance that is used here. */
export interface SequelizeDatabase<Tx, Options> {
  transaction<Result>(options: Options, work: (tx: Tx) => PromiseLike<Result>): Promise<Result>
  transaction<Result>(work: (tx: Tx) => PromiseLike<Result>): Promise<Result>
  transaction(options?: Options): Promise<Tx>
  query(text: string, options: never): Promise<unknown>
  getDialect(): string
}

/** The part of a Sequelize transaction that the adapter uses. */
export interface SequelizeTransaction {
  commit(): Promise<void>
  rollback(): Promise<void>
}

/**
 * Sequelize's transactions, for an outbox that is written to in them. Sequelize resolves although
 * the database rolled back after an error that was swallowed, so that events are dispatched only
 * after the database was asked for them.
 */
export function sequelizeTransactions<Tx extends SequelizeTransaction, Options extends object>(
  sequelize: SequelizeDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  return {
    databaseError: driverErrorOf,

    // Named as its transaction, another one is a savepoint in it.
    transaction: (work, within, options) =>
      sequelize.transaction({ ...options, ...(within && { transaction: within }) } as Options, work),

    storeTx(tx) {
      if (!isOpen(tx)) throw noTransaction()
      return {
        async query(text, values) {
          // Sequelize itself rolls back after a deadlock on MySQL.
          if (!isOpen(tx)) throw noTransaction()
          try {
            return { rows: await run(text, values, tx) }
          } catch (error) {
            throw driverErrorOf(error)
          }
        },
      }
    },
  }

  async function run(text: string, values: unknown[], transaction: Tx): Promise<readonly unknown[]> {
    if (sequelize.getDialect() === 'postgres') {
      // As if it were a selection: the answer to other kinds of statements has various shapes.
      const options = { type: 'SELECT', bind: values, transaction }
      return (await sequelize.query(text, options as never)) as readonly unknown[]
    }
    // Parameters that are written `?` are put into the text: Sequelize binds none of that kind.
    const answer = await sequelize.query(text, { replacements: values, transaction } as never)
    const [rows] = answer as readonly unknown[]
    return Array.isArray(rows) ? (rows as unknown[]) : []
  }
}

function isOpen(tx: SequelizeTransaction & { readonly connection?: unknown; readonly finished?: string }) {
  return tx.connection !== undefined && tx.finished === undefined
}

function driverErrorOf(error: unknown): unknown {
  return error instanceof Error && 'parent' in error ? error.parent : error
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This is no open transaction of Sequelize: it is something else, or it has ended. ' +
      'Hand over the t of sequelize.transaction(async (t) => { … }) while it is open, or write inside outbox.transaction().',
  )
}
