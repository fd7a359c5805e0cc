import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a TypeORM `DataSource` that is used here. */
export interface TypeOrmDataSource<Manager, Isolation> {
  transaction<Result>(work: (manager: Manager) => Promise<Result>): Promise<Result>
  transaction<Result>(isolation: Isolation, work: (manager: Manager) => Promise<Result>): Promise<Result>
}

/** The part of a TypeORM entity manager that is used here. */
export interface TypeOrmEntityManager {
  readonly queryRunner?: TypeOrmQueryRunner | undefined
}

/** The part of a TypeORM query runner that is used here. */
export interface TypeOrmQueryRunner {
  readonly isReleased: boolean
  readonly isTransactionActive: boolean
  query(
    text: string,
    values: unknown[],
    useStructuredResult: true,
  ): Promise<{ readonly records: readonly unknown[] }>
}

/** Options of a transaction in TypeORM. */
export interface TypeOrmTransactionOptions<Isolation> {
  /** The isolation level of the transaction: that of the database. */
  readonly isolationLevel?: Isolation
}

/**
 * TypeORM's transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet TypeORM resolves. So the outbox asks the
 * database for the events before it dispatches them.
 */
export function typeormTransactions<Manager extends TypeOrmEntityManager, Isolation>(
  dataSource: TypeOrmDataSource<Manager, Isolation>,
): Transactions<Manager, SqlTx, TypeOrmTransactionOptions<Isolation>> {
  return {
    transaction(work, within, { isolationLevel } = {}) {
      // An entity manager has the same method, which makes a savepoint.
      const runner = (within ?? dataSource) as TypeOrmDataSource<Manager, Isolation>
      return isolationLevel === undefined || within !== undefined
        ? runner.transaction(work)
        : runner.transaction(isolationLevel, work)
    },

    storeTx({ queryRunner }) {
      if (queryRunner?.isTransactionActive !== true || queryRunner.isReleased) throw noTransaction()
      return {
        // Structured, because the plain result of some statements is rows, and of others rows and a count.
        async query(text, values) {
          const { records } = await queryRunner.query(text, values, true)
          return { rows: records }
        },
      }
    },
  }
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This TypeORM entity manager has no open transaction: it is that of the data source, or its transaction has ended. ' +
      'Hand over the manager of dataSource.transaction(async (manager) => { … }) or of a query runner while its ' +
      'transaction is open, or write inside outbox.transaction().',
  )
}
