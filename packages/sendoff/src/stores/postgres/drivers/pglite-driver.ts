import { endingView } from '../../sql/ending-view.ts'
import { endedByHand, SqlTransaction, transactionAround, transactionOf } from '../../sql/sql-transaction.ts'
import { foreignSession } from './foreign-session.ts'
import { onlyConnectionOf } from '../../sql/only-connection.ts'
import type { PgliteDatabase, PgliteQueries, PgliteTransaction } from './postgres-client.ts'
import type { PostgresDriver, PostgresSession, Value } from './postgres-driver.ts'
import { asText } from './postgres-driver.ts'
import { isAborted, needsTransaction, rolledBack } from '../postgres-errors.ts'
import { withinSavepoint } from './savepoint.ts'

type Transact = <Result>(work: (tx: PgliteTransaction) => Promise<Result>) => Promise<Result>

// bool, bigint, smallint, integer, text, json and double precision: all types that statements return.
const answered = [16, 20, 21, 23, 25, 114, 701]
const options = {
  rowMode: 'array',
  parsers: Object.fromEntries(answered.map((type) => [type, (value: string) => value])),
} as const

/** PostgreSQL within the process, by PGlite. It has one connection, and no named prepared statements. */
export function pgliteDriver(database: PgliteDatabase): PostgresDriver<PgliteTransaction> {
  const parts = {
    savepoint: <Result>(
      tx: PgliteTransaction,
      name: string,
      work: (tx: PgliteTransaction) => Promise<Result>,
    ) => withinSavepoint(sessionOn(tx), name, () => work(tx)),

    view: endingView<PgliteTransaction>,
  }

  return {
    durable: isFolder(database.dataDir),
    multiProcess: false,
    onlyConnection: onlyConnectionOf(database),

    run: (statement, values) => sessionOn(database).run(statement, values),

    transaction: (work, isolation) =>
      (database.transaction.bind(database) as Transact)(async (tx) => {
        if (isolation !== undefined) await tx.query(`set transaction isolation level ${isolation}`)
        const result = await new SqlTransaction(tx, parts).run(work)
        await assertCommittable(tx)
        return result
      }),

    nested: (tx, work) => transactionAround(tx, parts).nested(work),

    session(tx) {
      const known = transactionOf(tx)
      known?.assertOpen()
      const handle = known?.handle ?? tx
      return 'closed' in handle ? sessionOn(handle) : foreignSession(handle)
    },

    inTransaction(tx) {
      if ('transaction' in tx) return false
      const known = transactionOf(tx)
      if (known !== undefined && !known.isOpen) return false
      return (known?.handle ?? tx).closed === true ? false : undefined
    },

    listen: (channel, callback) => database.listen(channel, callback),
  }
}

function sessionOn(handle: PgliteQueries): PostgresSession {
  return {
    async run({ text }, values = []) {
      const { rows } = await handle.query(text, values as Value[], options)
      return (rows as unknown[][]).map((row) => row.map(asText))
    },
  }
}

// PGlite resolves a transaction that was rolled back by hand, and older versions one that has failed.
async function assertCommittable(tx: PgliteTransaction): Promise<void> {
  if (tx.closed) throw endedByHand()
  try {
    await sessionOn(tx).run({ text: 'savepoint sendoff_end' })
  } catch (error) {
    if (isAborted(error)) throw rolledBack(error)
    throw needsTransaction(error) ? endedByHand(error) : error
  }
}

function isFolder(dataDir: string | undefined): boolean {
  return dataDir !== undefined && dataDir !== '' && !dataDir.startsWith('memory://')
}
