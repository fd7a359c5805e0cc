import type { ConnectionSession, Connector } from './connector.ts'
import { idleConnectionsOf, tellsOfTransaction } from './connector.ts'
import type { Mysql2Connection, Mysql2Core, Mysql2Pool, Mysql2Query } from './mysql-client.ts'
import type { Answer, Rows, Value } from './mysql-driver.ts'

interface Header {
  readonly affectedRows: number
  readonly insertId: number
  readonly serverStatus: number
}

interface IdleConnection {
  once(event: 'end', listener: () => void): unknown
  on(event: 'error', listener: () => void): unknown
  destroy(): void
  readonly stream?: { destroy?(error: Error): unknown }
}

const ignore = () => {}

// We pass an error: otherwise the package would not tell callers that wait on a connection that it has ended.
function breakOff(connection: IdleConnection | undefined): void {
  connection?.stream?.destroy?.(new Error('The connection was silent for too long.'))
}

/** `mysql2`, by its promises. */
export function mysql2Connector(pool: Mysql2Pool): Connector<Mysql2Connection> {
  const idle = idleConnectionsOf<IdleConnection>((pool as { readonly pool?: object }).pool ?? pool)

  return {
    pool,
    maxConnections: connectionLimitOf(pool),
    acquire: () => pool.getConnection(),
    release: (connection) => connection.release(),
    discard: (connection) => connection.destroy(),
    breakOff: (connection) => breakOff((connection as { readonly connection?: IdleConnection }).connection),
    dropIdle: (silentMs) =>
      idle.takeSilent(silentMs).forEach((connection) => {
        // The pool listens for one error. The server may have ended the connection with one, as MySQL does
        // after wait_timeout. Without this listener, our own error would then end the process.
        connection.on('error', ignore)
        // We remove it from the pool first, so that no caller gets it.
        connection.destroy()
        breakOff(connection)
      }),
    escapesByBackslash: true,
    watched: ['query', 'execute'],
    unwatched: ['connection'],
  }
}

/** A connection of `mysql2`, if `tx` is one: with promises, or with callbacks. */
export function mysql2Session(tx: object): ConnectionSession | undefined {
  if (!('beginTransaction' in tx)) return undefined
  if ('promise' in tx && typeof tx.promise === 'function') return coreSession(tx as object as Mysql2Core)
  if (!('connection' in tx)) return undefined

  // If a tool has wrapped the methods of a connection, it must see every statement.
  const isWrapped = Object.hasOwn(tx, 'query') || Object.hasOwn(tx, 'execute')
  return isWrapped
    ? sessionOf(promisesOf(tx as object as Mysql2Connection))
    : coreSession(tx.connection as Mysql2Core)
}

type Ask = (method: 'query' | 'execute', text: string, values: readonly Value[]) => Promise<unknown>

function sessionOf(ask: Ask): ConnectionSession {
  return {
    run: async (text, values = []) => answerOf(await ask('query', text, values)),

    runPrepared: async (text, values) => answerOf(await ask('execute', text, values)),

    inTransaction: async () => tellsOfTransaction(((await ask('query', 'do 0', [])) as Header).serverStatus),
  }
}

function promisesOf(connection: Mysql2Connection): Ask {
  return async (method, text, values) => (await connection[method](queryOf(connection, text, values)))[0]
}

// We use callbacks. With promises, mysql2 records where each statement comes from. The more asynchronous
// functions are on the stack, the longer that takes. It took longer than everything else we do to write an
// event.
function coreSession(connection: Mysql2Core): ConnectionSession {
  return sessionOf(
    (method, text, values) =>
      new Promise((resolve, reject) => {
        connection[method](queryOf(connection, text, values), (error, result) => {
          if (error === null) return resolve(result)
          // The original stack does not help: it is in the code that reads from the socket.
          Error.captureStackTrace(error)
          reject(error)
        })
      }),
  )
}

function queryOf(client: object, sql: string, values: readonly Value[]): Mysql2Query {
  return {
    sql,
    values: values as Value[],
    rowsAsArray: true,
    typeCast: hasTypeCast(client) ? plainly : true,
    nestTables: false,
    namedPlaceholders: false,
  }
}

// If the pool's user has set a function, only another function can replace it.
const plainly = (_: unknown, next: () => unknown) => next()

function hasTypeCast(client: object): boolean {
  const { pool, connection, config } = client as {
    pool?: { config?: { connectionConfig?: { typeCast?: unknown } } }
    connection?: { config?: { typeCast?: unknown } }
    config?: { typeCast?: unknown }
  }
  const typeCast = (pool?.config?.connectionConfig ?? connection?.config ?? config)?.typeCast
  return typeof typeCast === 'function'
}

function answerOf(result: unknown): Answer {
  if (Array.isArray(result)) return { rows: result as Rows, affectedRows: 0, insertId: 0 }

  const { affectedRows, insertId } = result as Header
  return { rows: [], affectedRows: Number(affectedRows), insertId: Number(insertId) }
}

function connectionLimitOf(pool: Mysql2Pool): number | undefined {
  const { pool: inner } = pool as { pool?: { config?: { connectionLimit?: number } } }
  return inner?.config?.connectionLimit
}
