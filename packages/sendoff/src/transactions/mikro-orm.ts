import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of MikroORM's entity manager that is used here. Its driver has to be one for SQL. */
export interface MikroOrmEntityManager<Options = never> {
  transactional(work: never, options?: Options): Promise<unknown>
  getTransactionContext(): unknown
}

/** MikroORM's own options, without those for nesting, which the outbox sets. */
export type MikroOrmTransactionOptions<Options> = Omit<Options, 'ctx' | 'propagation'>

/**
 * MikroORM's transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet MikroORM resolves. So the outbox asks the
 * database for the events before it dispatches them.
 */
export function mikroOrmTransactions<Em extends MikroOrmEntityManager, Options extends object>(
  em: Em & MikroOrmEntityManager<Options>,
): Transactions<Em, SqlTx, MikroOrmTransactionOptions<Options>> {
  const run = <Result>(outer: Em, work: (em: Em) => Promise<Result>, options: object) =>
    outer.transactional(work as never, options as never) as Promise<Result>

  return {
    async transaction(work, within, options) {
      if (within !== undefined) return run(within, work, { ...options, propagation: 'nested' })
      if (openTransactionOf(em) !== undefined) throw foreignTransaction()
      return run(em, work, { ...options, propagation: 'requires_new' })
    },

    storeTx(tx) {
      const open = openTransactionOf(tx)
      if (open === undefined) throw noTransaction()
      return {
        // Not em.execute(): it puts the values into the text.
        query: (text, values) =>
          open.executeQuery({
            sql: text,
            parameters: values,
            query: { kind: 'RawNode' },
            queryId: { queryId: '' },
          }),
      }
    },
  }
}

/** The transaction of an entity manager, which is one of Kysely. */
interface KyselyTransaction {
  readonly isCommitted: boolean
  readonly isRolledBack: boolean
  executeQuery(query: object): Promise<{ readonly rows: readonly unknown[] }>
}

// An entity manager keeps its transaction after the end.
function openTransactionOf(em: MikroOrmEntityManager): KyselyTransaction | undefined {
  const transaction = em.getTransactionContext() as KyselyTransaction | undefined
  if (transaction !== undefined && typeof transaction.executeQuery !== 'function') throw wrongVersion()
  return transaction?.isCommitted || transaction?.isRolledBack ? undefined : transaction
}

function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This entity manager of MikroORM has no open transaction. ' +
      'Hand over the em of em.transactional(async (em) => { … }) while it is open, or write inside outbox.transaction().',
  )
}

function foreignTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_INSIDE_TRANSACTION',
    'outbox.transaction() is called inside a transaction of MikroORM that the outbox did not open. ' +
      'Write there with { tx: em }, or open the outer transaction with outbox.transaction(), too.',
  )
}

function wrongVersion(): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    'mikroOrmTransactions needs MikroORM 7 or newer, with a driver for SQL.',
  )
}
