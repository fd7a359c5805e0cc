import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Knex instance that is used here. */
export interface KnexDatabase<Tx, Options> {
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>
}

/** The part of a Knex transaction that the adapter uses. */
export interface KnexTransaction {
  readonly isTransaction?: boolean
  isCompleted(): boolean
  readonly client: KnexClient
}

/** The part of a Knex transaction's client that the adapter uses. */
export interface KnexClient {
  acquireConnection(): unknown
  query(connection: unknown, query: object): unknown
}

/**
 * Knex' transactions, for an outbox that is written to in them. Knex resolves although the database
 * rolled back after an error that was swallowed, so that events are dispatched only after the
 * database was asked for them.
 */
export function knexTransactions<Tx extends KnexTransaction, Options>(
  knex: KnexDatabase<Tx, Options>,
): Transactions<Tx, SqlTx, Options> {
  return {
    transaction: (work, within, options) =>
      within === undefined
        ? knex.transaction(work, options)
        : (within as unknown as KnexDatabase<Tx, Options>).transaction(work, options),

    storeTx(tx) {
      if (tx.isTransaction !== true || tx.isCompleted()) throw noTransaction()
      return {
        // Not raw(): it takes placeholders of another kind, and hands the rows to postProcessResponse,
        // which may rename the columns of the store.
        async query(text, values) {
          const connection = await tx.client.acquireConnection()
          const { response } = (await tx.client.query(connection, {
            sql: text,
            bindings: values,
          })) as Answered
          return 'rows' in response ? response : { rows: response[0] }
        },
      }
    },
  }
}

/** What `pg` answers, or `mysql2`. */
interface Answered {
  readonly response: { readonly rows: readonly unknown[] } | readonly [readonly unknown[], unknown]
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This Knex handle has no open transaction: it is knex itself, or its transaction has ended. ' +
      'Hand over the trx of knex.transaction(async (trx) => { … }) while it is open, or write inside outbox.transaction().',
  )
}
