import { OutboxError } from '../errors.ts'
import type { SqlTx, Transactions } from '../transactions.ts'

/** The part of a Kysely instance that is used here. */
export interface KyselyDatabase<Tx, Isolation, Access> {
  transaction(): KyselyTransactionBuilder<Tx, Isolation, Access>
}

/** The part of Kysely's transaction builder that is used here. */
export interface KyselyTransactionBuilder<Tx, Isolation, Access> {
  setIsolationLevel(isolationLevel: Isolation): KyselyTransactionBuilder<Tx, Isolation, Access>
  setAccessMode(accessMode: Access): KyselyTransactionBuilder<Tx, Isolation, Access>
  execute<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
}

/** The part of a Kysely transaction that is used here. */
export interface KyselyTransaction {
  readonly isTransaction: boolean
  withoutPlugins(): KyselyTransaction
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>
}

/** Options of a transaction in Kysely. */
export interface KyselyTransactionOptions<Isolation, Access> {
  /** The isolation level of the transaction: that of the database. */
  readonly isolationLevel?: Isolation
  /** Whether the transaction may write: as the database decides. */
  readonly accessMode?: Access
}

/**
 * Kysely's transactions, for an outbox that writes in them.
 *
 * If the caller swallows an error, the database rolls back, yet not every version and dialect of Kysely
 * rejects. So the outbox asks the database for the events before it dispatches them.
 */
export function kyselyTransactions<Tx extends KyselyTransaction, Isolation, Access>(
  db: KyselyDatabase<Tx, Isolation, Access>,
): Transactions<Tx, SqlTx, KyselyTransactionOptions<Isolation, Access>> {
  let savepoints = 0

  return {
    transaction(work, within, { isolationLevel, accessMode } = {}) {
      if (within !== undefined) return inSavepoint(within, `sendoff_${++savepoints}`, work)

      let builder = db.transaction()
      if (isolationLevel !== undefined) builder = builder.setIsolationLevel(isolationLevel)
      if (accessMode !== undefined) builder = builder.setAccessMode(accessMode)
      return builder.execute(work)
    },

    storeTx(tx) {
      if (!tx.isTransaction) throw noTransaction()
      // A plugin such as the one for camel case would rename the columns of the store.
      const plain = tx.withoutPlugins()
      return { query: (text, values) => run(plain, text, values) }
    },
  }
}

/**
 * Runs `work` in a savepoint, because Kysely has no nested transactions. Names are unique because MySQL
 * forgets the older of two.
 */
async function inSavepoint<Tx extends KyselyTransaction, Result>(
  tx: Tx,
  name: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  await run(tx, `savepoint ${name}`)
  try {
    const result = await work(tx)
    await run(tx, `release savepoint ${name}`)
    return result
  } catch (error) {
    await undo(tx, name)
    throw error
  }
}

// If this fails as well, the whole transaction has failed. The error that led here says more.
async function undo(tx: KyselyTransaction, name: string): Promise<void> {
  try {
    await run(tx, `rollback to savepoint ${name}`)
    await run(tx, `release savepoint ${name}`)
  } catch {}
}

async function run(
  tx: KyselyTransaction,
  text: string,
  values: readonly unknown[] = [],
): Promise<{ readonly rows: readonly unknown[] }> {
  const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
  try {
    return await tx.executeQuery({ sql: text, parameters: values, query, queryId: { queryId: '' } } as never)
  } catch (error) {
    // Only the text of Kysely's error says so.
    const hasEnded = error instanceof Error && /^Transaction is already /.test(error.message)
    throw hasEnded ? noTransaction(error) : error
  }
}

function noTransaction(cause?: Error): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'This Kysely handle has no open transaction: it is the database itself, or its transaction has ended. ' +
      'Hand over the trx of db.transaction().execute(async (trx) => { … }) while it is open, or write inside outbox.transaction().',
    { cause },
  )
}
