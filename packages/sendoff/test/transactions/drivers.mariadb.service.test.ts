import mariadb, { type PoolConnection } from 'mariadb'
import mysql from 'mysql2/promise'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { serverAddress } from '../stores/mysql/mysql-database.ts'
import { describeDriver, transactionsOf } from './drivers-suite.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { subjectOf } from './transactions-suite.ts'

describeDriver('mysql2', mariadbOrders, (url) => {
  const pool = mysql.createPool(url)
  return subjectOf({
    transactions: transactionsOf<mysql.PoolConnection>(mysqlStore({ client: pool })),
    open: (work) => begun(pool, work),
    addOrder: (connection, id) => connection.query('insert into orders (id) values (?)', [id]),
    run: (connection, text) => connection.query(text),
    outside: pool,
    serializable: { isolation: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => pool.end(),
  })
})

describeDriver('mariadb', mariadbOrders, (url) => {
  const database = new URL(url).pathname.slice(1)
  const pool = mariadb.createPool({ ...serverAddress(url), database })
  return subjectOf({
    transactions: transactionsOf<PoolConnection>(mysqlStore({ client: pool })),
    open: (work) => begun(pool, work),
    addOrder: (connection, id) => connection.query('insert into orders (id) values (?)', [id]),
    run: (connection, text) => connection.query(text),
    outside: pool,
    serializable: { isolation: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => pool.end(),
  })
})

interface Connection {
  beginTransaction(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  release(): unknown
}

/** Runs a transaction that is begun and ended by hand. */
async function begun<Tx extends Connection, Result>(
  pool: { getConnection(): Promise<Tx> },
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection()
  try {
    await connection.beginTransaction()
    const result = await work(connection)
    await connection.commit()
    return result
  } catch (error) {
    await connection.rollback()
    throw error
  } finally {
    await connection.release()
  }
}
