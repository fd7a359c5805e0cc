import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import callbackMysql from 'mysql2'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../../packages/sendoff/src/stores/mysql/index.ts'
import { isOnMysql } from '../../services/servers/mysql/on-mysql.ts'
import type { FaultStore } from './fault-store.ts'
import { accessFrom, openAll } from './server-access.ts'

const goodbyeMs = 100

/**
 * The server ends a transaction after so long if its client is gone unnoticed: others may wait for the keys
 * that it has locked.
 */
const idleTransactionSeconds = 3

/** A store on a server that is restarted, with sessions that are ended, and a network that loses data. */
export const mariadbFaultStore: FaultStore = {
  abandonedMs: idleTransactionSeconds * 1_000,

  // Only the driver needs the code that starts a server.
  site: async (folder, slots) => (await import('./mariadb-site.ts')).mariadbSite(folder, slots),

  open(location) {
    const { url: uri, poolSize, timeoutMs, isFull } = accessFrom(location)
    const pool = callbackMysql.createPool({
      uri,
      connectionLimit: poolSize,
      ...(timeoutMs !== undefined && { connectTimeout: timeoutMs }),
    })
    const sockets = socketsOf(pool, timeoutMs)
    // MySQL has no limit for transactions alone, and ends every idle session instead.
    const limit = isOnMysql ? 'wait_timeout' : 'idle_transaction_timeout'
    pool.on('connection', (connection) => {
      connection.query(`set session ${limit} = ${idleTransactionSeconds}`, () => {})
    })
    if (isFull) openAll(poolSize, async () => (await pool.promise().getConnection()).release())
    return {
      store: mysqlStore({ client: pool.promise() }),
      async end() {
        // A silent connection never replies to a goodbye, and a lost one needs none.
        const goodbye = pool
          .promise()
          .end()
          .catch(() => {})
        await Promise.race([goodbye, delay(goodbyeMs)])
        for (const socket of sockets) socket.destroy()
      },
    }
  },

  prepare: (location) =>
    withConnection(location, async (connection) => {
      await connection.query('create table business (id varchar(100) primary key)')
    }),

  async addBusinessRow(tx: mysql.Connection, id) {
    await tx.query('insert into business (id) values (?)', [id])
  },

  endSession(tx: mysql.Connection) {
    // Not awaited: the end of the transaction is on its way when the session ends.
    tx.query('kill connection_id()').catch(() => {})
  },

  businessRows: (location) =>
    withConnection(location, async (connection) => {
      const [rows] = await connection.query<mysql.RowDataPacket[]>('select id from business')
      return rows.map(({ id }) => String(id))
    }),
}

/**
 * With a time limit, connections without traffic for so long are given up: the driver itself would wait for
 * ever.
 */
function socketsOf(pool: callbackMysql.Pool, timeoutMs: number | undefined): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  pool.on('connection', (connection) => {
    const { stream } = connection as unknown as { stream: Socket }
    sockets.add(stream)
    stream.once('close', () => sockets.delete(stream))
    if (timeoutMs !== undefined) stream.setTimeout(timeoutMs, () => stream.destroy())
  })
  return sockets
}

async function withConnection<Result>(
  location: string,
  work: (connection: mysql.Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await mysql.createConnection(location)
  try {
    return await work(connection)
  } finally {
    await connection.end()
  }
}
