import type { ConnectionSession, Connector } from './connector.ts'
import { tellsOfTransaction } from './connector.ts'
import type { Mysql2Connection, Mysql2Pool, Mysql2Query } from './mysql-client.ts'
import type { Answer, Rows, Value } from './mysql-driver.ts'

interface Header {
  readonly affectedRows: number
  readonly insertId: number
  readonly serverStatus: number
}

/** `mysql2`, by its promises. */
export function mysql2Connector(pool: Mysql2Pool): Connector<Mysql2Connection> {
  return {
    pool,
    maxConnections: connectionLimitOf(pool),
    acquire: () => pool.getConnection(),
    release: (connection) => connection.release(),
    discard: (connection) => connection.destroy(),
    run: async (text, values) => answerOf(await pool.query(queryOf(pool, text, values))),
    escapesByBackslash: true,
    watched: ['query', 'execute'],
    unwatched: ['connection'],
  }
}

/** A connection of `mysql2`, if `tx` is one: with promises, or with callbacks. */
export function mysql2Session(tx: object): ConnectionSession | undefined {
  if (!('beginTransaction' in tx)) return undefined
  if ('promise' in tx && typeof tx.promise === 'function') {
    return sessionOn((tx as { promise(): Mysql2Connection }).promise())
  }
  return 'connection' in tx ? sessionOn(tx as object as Mysql2Connection) : undefined
}

function sessionOn(connection: Mysql2Connection): ConnectionSession {
  return {
    run: async (text, values = []) => answerOf(await connection.query(queryOf(connection, text, values))),

    async inTransaction() {
      const [header] = await connection.query(queryOf(connection, 'do 0', []))
      return tellsOfTransaction((header as Header).serverStatus)
    },
  }
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

// Where there is a function of the pool's user, only another one takes its place.
const plainly = (_: unknown, next: () => unknown) => next()

function hasTypeCast(client: object): boolean {
  const { pool, connection } = client as {
    pool?: { config?: { connectionConfig?: { typeCast?: unknown } } }
    connection?: { config?: { typeCast?: unknown } }
  }
  const typeCast = pool?.config?.connectionConfig?.typeCast ?? connection?.config?.typeCast
  return typeof typeCast === 'function'
}

function answerOf([result]: [unknown, unknown]): Answer {
  if (Array.isArray(result)) return { rows: result as Rows, affectedRows: 0, insertId: 0 }

  const { affectedRows, insertId } = result as Header
  return { rows: [], affectedRows: Number(affectedRows), insertId: Number(insertId) }
}

function connectionLimitOf(pool: Mysql2Pool): number | undefined {
  const { pool: inner } = pool as { pool?: { config?: { connectionLimit?: number } } }
  return inner?.config?.connectionLimit
}
