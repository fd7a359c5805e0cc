import type { Finding } from '../../../store/index.ts'
import { endingView } from '../../sql/ending-view.ts'
import { SqlTransaction, transactionAround, transactionOf } from '../../sql/sql-transaction.ts'
import { foreignSession } from './foreign-session.ts'
import { onlyConnectionOf } from '../../sql/only-connection.ts'
import type { PostgresJsQuery, PostgresJsSql, PostgresJsTransaction } from './postgres-client.ts'
import type { DriverOptions, PostgresDriver, PostgresSession, Value } from './postgres-driver.ts'
import { commitFailure, preparedFailure, preparesBehindPooler } from '../postgres-errors.ts'
import { withinSavepoint } from './savepoint.ts'

type BeginWith<Tx> = <Result>(options: string, work: (tx: Tx) => Promise<Result>) => Promise<Result>
type PostgresJsHandle = Pick<PostgresJsSql, 'unsafe'>
type Begin<Tx> = <Result>(work: (tx: Tx) => Promise<Result>) => Promise<Result>

const unendingSockets: Finding = {
  code: 'CONNECTIONS_UNENDING',
  severity: 'warning',
  message:
    'postgres.js keeps a silently dead connection for up to a quarter of an hour, and sendoff cannot end it.',
  fix: 'Give its option "socket" a function that returns sockets with a timeout, longer than any of your statements takes.',
}

/** PostgreSQL through the `sql` of postgres.js. It offers no way to end one connection of its pool. */
export function postgresJsDriver(
  sql: PostgresJsSql,
  { prepare }: DriverOptions,
): PostgresDriver<PostgresJsTransaction> {
  const parts = {
    // We need two savepoints. The inner one is that of postgres.js, which fails the whole transaction for an
    // error that it sees outside of a savepoint. The outer one is ours: postgres.js never releases its own,
    // and no later row would be certain.
    savepoint: <Result>(
      tx: PostgresJsTransaction,
      name: string,
      work: (inner: PostgresJsTransaction) => Promise<Result>,
    ) => withinSavepoint(sessionOn(tx), name, () => (tx.savepoint as Begin<PostgresJsTransaction>)(work)),

    view: endingView<PostgresJsTransaction>,
  }

  let isSafe = prepare === true || sql.options.prepare === false
  async function assertSafe(): Promise<void> {
    if (isSafe) return
    if (await isPooled(sql)) throw preparesBehindPooler()
    isSafe = true
  }

  // A sql that prepares nothing is most likely behind a pooler. There, postgres.js sends a statement with
  // values right behind one without, and PgBouncer 1.18 loses the answer. So no other statement gets the
  // connection of one without values.
  const mayLoseAnswers = sql.options.prepare === false && sql.reserve !== undefined
  async function alone<Result>(work: (handle: PostgresJsHandle) => Promise<Result>): Promise<Result> {
    if (!mayLoseAnswers) return work(sql)
    const reserved = await sql.reserve!()
    try {
      return await work(reserved)
    } finally {
      reserved.release()
    }
  }

  return {
    durable: true,
    multiProcess: true,
    onlyConnection: sql.options.max === 1 ? onlyConnectionOf(sql) : undefined,
    warnings: sql.options.socket ? [] : [unendingSockets],

    async run(statement, values) {
      await assertSafe()
      return values?.length
        ? sessionOn(sql).run(statement, values)
        : alone((handle) => sessionOn(handle).run(statement))
    },

    async transaction(work, isolation) {
      let worked = false
      try {
        const begin = sql.begin.bind(sql) as unknown as BeginWith<PostgresJsTransaction>
        return await begin(isolation === undefined ? '' : `isolation level ${isolation}`, async (tx) => {
          const result = await new SqlTransaction(tx, parts).run(work)
          worked = true
          return result
        })
      } catch (error) {
        throw worked ? commitFailure(error) : error
      }
    },

    nested: (tx, work) => transactionAround(tx, parts).nested(work),

    session(tx) {
      const known = transactionOf(tx)
      known?.assertOpen()
      const handle = known?.handle ?? tx
      return typeof handle === 'function' ? sessionOn(handle) : foreignSession(handle)
    },

    inTransaction(tx) {
      if ('begin' in tx) return false
      return transactionOf(tx)?.isOpen
    },

    isPooled: () => alone(isPooled),

    async listen(channel, callback) {
      const listening = await sql.listen(channel, callback, () => callback())
      return async () => {
        await listening.unlisten()
      }
    },
  }

  function sessionOn(handle: PostgresJsHandle): PostgresSession {
    return {
      async run({ name, text }, values = []) {
        try {
          const options = { prepare: prepare !== false && name !== undefined }
          return await textRows(handle.unsafe(text, values as Value[], options))
        } catch (error) {
          throw preparedFailure(error)
        }
      },
    }
  }
}

/**
 * Whether a pooler is between the client and the server: the client takes another process for that of its
 * connection than the server does.
 */
async function isPooled(sql: PostgresJsHandle): Promise<boolean> {
  const rows = await sql.unsafe('select pg_backend_pid()').raw()
  return rows.state?.pid !== undefined && rows.state.pid !== Number(asString(rows[0]![0]!))
}

async function textRows(query: PostgresJsQuery): Promise<readonly (readonly Value[])[]> {
  const rows = await query.raw()
  return rows.map((row) => row.map((value) => (value === null ? null : asString(value))))
}

function asString(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}
