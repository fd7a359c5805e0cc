import type mysql from 'mysql2/promise'
import { orderIdOf } from '../../bench-event.ts'
import { withConnection } from './mysql-server.ts'

/** Creates the table of business data that events are written along with. */
export async function createOrders(url: string): Promise<void> {
  await withConnection(url, (connection) =>
    connection.query(
      'create table orders (id varchar(36) primary key, customer varchar(64) not null, total decimal(10, 2) not null)',
    ),
  )
}

/** Adds a row of business data, by a prepared statement. */
export async function insertOrder(connection: mysql.Connection, number: number): Promise<void> {
  await connection.execute('insert into orders (id, customer, total) values (?, ?, ?)', [
    orderIdOf(number),
    'cus_8f2b1c9e7d',
    129.95,
  ])
}

/** Runs a transaction written by hand. */
export async function inTransaction<Result>(
  pool: mysql.Pool,
  work: (connection: mysql.PoolConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection()
  try {
    await connection.query('start transaction')
    const result = await work(connection)
    await connection.query('commit')
    return result
  } finally {
    // Without a rollback: an error ends the measurement.
    connection.release()
  }
}
