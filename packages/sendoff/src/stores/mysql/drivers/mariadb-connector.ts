import type { ConnectionSession, Connector } from './connector.ts'
import { idleConnectionsOf, tellsOfTransaction } from './connector.ts'
import type { MariadbConnection, MariadbPool, MariadbQuery } from './mysql-client.ts'
import type { Answer, Rows } from './mysql-driver.ts'

interface IdleConnection {
  once(event: 'end', listener: () => void): unknown
  destroy(): void
}

/** `mariadb`, the connector of MariaDB. */
export function mariadbConnector(pool: MariadbPool): Connector<MariadbConnection> {
  const idle = idleConnectionsOf<IdleConnection>(pool)

  return {
    pool,
    maxConnections: undefined,
    acquire: () => pool.getConnection(),
    release: (connection) => connection.release(),
    discard: (connection) => connection.destroy(),
    breakOff: (connection) => connection.destroy(),
    dropIdle: (silentMs) => idle.takeSilent(silentMs).forEach((connection) => connection.destroy()),
    escapesByBackslash: false,
    watched: ['query', 'execute', 'batch'],
    unwatched: [],
  }
}

/** A connection of `mariadb`, if `tx` is one. */
export function mariadbSession(tx: object): ConnectionSession | undefined {
  if (!('beginTransaction' in tx && 'batch' in tx && 'info' in tx)) return undefined

  const connection = tx as object as MariadbConnection
  return {
    run: async (text, values = []) => answerOf(await connection.query(queryOf(text), [...values])),

    runPrepared: async (text, values) => answerOf(await connection.execute(queryOf(text), [...values])),

    async inTransaction() {
      await connection.query(queryOf('do 0'), [])
      return tellsOfTransaction(Number(connection.info?.status))
    },
  }
}

function queryOf(sql: string): MariadbQuery {
  return {
    sql,
    rowsAsArray: true,
    bigIntAsNumber: true,
    insertIdAsNumber: true,
    metaAsArray: false,
    nestTables: false,
    namedPlaceholders: false,
    // Without this, the caller's own setting would apply.
    ...{ typeCast: undefined },
  }
}

function answerOf(result: unknown): Answer {
  if (Array.isArray(result)) return { rows: result as Rows, affectedRows: 0, insertId: 0 }

  const { affectedRows, insertId } = result as { affectedRows: number; insertId: number | bigint }
  return { rows: [], affectedRows, insertId: Number(insertId) }
}
