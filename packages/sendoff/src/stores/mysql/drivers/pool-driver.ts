import type { TransactionOptions } from '../../../transactions.ts'
import { type ConnectionWait, ConnectionWaits } from '../../connection-waits.ts'
import { endingView, type ViewOwner } from '../../sql/ending-view.ts'
import { onlyConnectionOf } from '../../sql/only-connection.ts'
import { SqlTransaction, transactionOf } from '../../sql/sql-transaction.ts'
import { commitFailure, isReadOnly } from '../mysql-errors.ts'
import type { ConnectionSession, Connector } from './connector.ts'
import { foreignSession } from './foreign-session.ts'
import { mariadbSession } from './mariadb-connector.ts'
import type { CallersSession, DriverOptions, MysqlDriver, MysqlSession } from './mysql-driver.ts'
import { mysql2Session } from './mysql2-connector.ts'
import { withinSavepoint } from './savepoint.ts'
import { transactionView } from './transaction-view.ts'
import { TransactionWatch } from './transaction-watch.ts'

interface PooledConnection {
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

const ignore = () => {}

// The watches of connections that are in a transaction of the store.
const watches = new WeakMap<object, TransactionWatch>()

/** A driver for a pool of connections, of either package. */
export function poolDriver<Connection extends PooledConnection>(
  connector: Connector<Connection>,
  { prepare }: DriverOptions,
): MysqlDriver<Connection> {
  const parts = {
    savepoint: <Result>(
      connection: Connection,
      name: string,
      work: (connection: Connection) => Promise<Result>,
    ) => withinSavepoint(sessionOf(connection), watches.get(connection)!, name, () => work(connection)),

    view: (connection: Connection, owner: ViewOwner) =>
      transactionView(connection, watches.get(connection)!, connector, owner),
  }

  const waits = new ConnectionWaits()

  return {
    onlyConnection: connector.maxConnections === 1 ? onlyConnectionOf(connector.pool) : undefined,

    escapesByBackslash: connector.escapesByBackslash,

    run: (text, values = []) =>
      withConnection(
        (_, session) => session.run(text, values),
        async (_, error) => !isReadOnly(error),
      ),

    connected: (work) => withConnection((_, session) => work(session), rollBack),

    briefly: (work) =>
      withConnection(async (_, session) => {
        await begin(session, 'read committed')
        const result = await work(session)
        await session.run('commit')
        return result
      }, rollBack),

    transaction: (work, options) =>
      withConnection(async (connection, session) => {
        await begin(session, options?.isolation)
        const watch = new TransactionWatch()
        watches.set(connection, watch)
        try {
          const result = await new SqlTransaction(connection, parts).run(work)
          await commit(session, watch)
          return result
        } finally {
          watches.delete(connection)
        }
      }, rollBack),

    nested: (tx, work) =>
      (transactionOf(tx) ?? new SqlTransaction(tx, foreignParts<Connection>())).nested(work),

    session(tx) {
      const known = transactionOf(tx)
      known?.assertOpen()
      const handle = known?.handle ?? tx
      const watch = watches.get(handle)
      watch?.assertAlive()
      const session = sessionOf(handle)
      return known === undefined ? session : watchedSession(session, known, watch, prepare)
    },

    keepsRows(tx) {
      const known = transactionOf(tx)
      return known !== undefined && watches.get(known.handle)?.keepsRows === true
    },

    async inTransaction(tx) {
      const known = transactionOf(tx)
      // A transaction that was undone counts as open: the insert will say what is wrong with it.
      if (known !== undefined) return known.isOpen
      if ('getConnection' in tx) return false
      return connectionSession(tx)?.inTransaction()
    },

    dropSilent(silentMs) {
      waits.endSilent(silentMs)
      connector.dropIdle(silentMs)
    },
  }

  /**
   * Runs `work` on a connection. If it fails, `recover` returns whether the state of the connection is clear
   * afterwards.
   */
  async function withConnection<Result>(
    work: (connection: Connection, session: ConnectionSession) => Promise<Result>,
    recover: (session: MysqlSession, error: unknown) => Promise<boolean>,
  ): Promise<Result> {
    const connection = await acquire()
    // While a connection is in use, the pool does not handle its errors, and a lost one would end the
    // process.
    connection.on('error', ignore)
    const wait = waits.open(() => connector.breakOff(connection))
    const session = awaitedSession(connectionSession(connection)!, wait)
    let isClean = true
    try {
      return await work(connection, session)
    } catch (error) {
      isClean = !wait.isEnded && (await recover(session, error))
      throw error
    } finally {
      wait.close()
      connection.removeListener('error', ignore)
      await giveBack(connection, isClean)
    }
  }

  async function acquire(): Promise<Connection> {
    const wait = waits.open(ignore)
    try {
      const acquired = connector.acquire()
      // If the wait has ended, a connection that arrives late goes back to the pool.
      acquired.then((late) => wait.isEnded && void giveBack(late, true), ignore)
      return await wait.answer(acquired)
    } finally {
      wait.close()
    }
  }

  // Errors are ignored: whatever happens to the connection now, the work on it is done.
  async function giveBack(connection: Connection, isClean: boolean): Promise<void> {
    if (!isClean) return connector.discard(connection)
    try {
      await connector.release(connection)
    } catch {
      connector.discard(connection)
    }
  }
}

// The level applies to the next transaction only, so the connection does not keep it.
async function begin(session: MysqlSession, isolation: TransactionOptions['isolation']): Promise<void> {
  const level = isolation && session.run(`set transaction isolation level ${isolation}`)
  await Promise.all([level, session.run('start transaction')])
}

async function commit(session: ConnectionSession, watch: TransactionWatch): Promise<void> {
  if (watch.isBusy) await watch.idle()
  watch.assertAlive()
  if (watch.isDoubtful && !(await session.inTransaction())) throw watch.ended()

  await session.run('commit').catch((error: unknown) => {
    throw commitFailure(error)
  })
}

function awaitedSession(session: ConnectionSession, wait: ConnectionWait): ConnectionSession {
  return {
    run: (text, values) => wait.answer(session.run(text, values)),
    runPrepared: (text, values) => wait.answer(session.runPrepared(text, values)),
    inTransaction: () => wait.answer(session.inTransaction()),
  }
}

/** Rolls back. Returns whether the state of the connection is clear afterwards. */
async function rollBack(session: MysqlSession): Promise<boolean> {
  try {
    await session.run('rollback')
    return true
  } catch {
    return false
  }
}

function sessionOf(tx: object): CallersSession {
  return connectionSession(tx) ?? foreignSession(tx)
}

function connectionSession(tx: object): ConnectionSession | undefined {
  return mariadbSession(tx) ?? mysql2Session(tx)
}

// The caller watches a transaction that it began itself.
function foreignParts<Tx extends object>() {
  return {
    savepoint: <Result>(tx: Tx, name: string, work: (tx: Tx) => Promise<Result>) =>
      withinSavepoint(sessionOf(tx), new TransactionWatch(), name, () => work(tx)),
    view: (tx: Tx, owner: ViewOwner) => endingView(tx, owner),
  }
}

function watchedSession(
  session: CallersSession,
  transaction: SqlTransaction,
  watch: TransactionWatch | undefined,
  prepare: boolean,
): CallersSession {
  return {
    ...session,
    run: (text, values) => watched(() => session.run(text, values)),
    runPrepared: (text, values) =>
      watched(() => (prepare && session.runPrepared?.(text, values)) || session.run(text, values)),
  }

  async function watched<Result>(run: () => Promise<Result>): Promise<Result> {
    if (watch?.isBusy) await watch.idle()
    transaction.assertOpen()
    watch?.assertAlive()
    try {
      return await run()
    } catch (error) {
      watch?.sawError(error)
      throw error
    }
  }
}
