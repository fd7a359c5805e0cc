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

/** The part of a Sequelize transaction that is used here. */
export interface SequelizeTransaction {
  commit(): Promise<void>
  rollback(): Promise<void>
}

/**
 * Sequelize's transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet Sequelize resolves. So the outbox asks the
 * database for the events before it dispatches them.
 */
export function sequelizeTransactions<Tx extends SequelizeTransaction, Options extends object>(
  sequelize: SequelizeDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  return {
    databaseError: driverErrorOf,

    // A transaction that names another one as its `transaction` is a savepoint in it.
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
      // Every statement counts as a SELECT, because the results of other kinds have various shapes.
      const options = { type: 'SELECT', bind: values, transaction }
      return (await sequelize.query(text, options as never)) as readonly unknown[]
    }
    // Sequelize binds no `?` parameters: it puts their values into the text.
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
    'This is not an open transaction of Sequelize: it is something else, or it has ended. ' +
      'Hand over the t of sequelize.transaction(async (t) => { … }) while it is open, or write inside outbox.transaction().',
  )
}
