import type pg from 'pg'
import { orderIdOf } from '../../bench-event.ts'
import { withClient } from './postgres-server.ts'

/** Any object of `pg` that runs statements. */
export interface Queryable {
  query(config: pg.QueryConfig): Promise<unknown>
}

/** Creates the table of business data that events are written along with. */
export async function createOrders(url: string): Promise<void> {
  await withClient(url, (client) =>
    client.query('create table orders (id text primary key, customer text not null, total numeric not null)'),
  )
}

/** Adds a row of business data, by a prepared statement. */
export async function insertOrder(client: Queryable, number: number): Promise<void> {
  await client.query({
    name: 'insert-order',
    text: 'insert into orders (id, customer, total) values ($1, $2, $3)',
    values: [orderIdOf(number), 'cus_8f2b1c9e7d', 129.95],
  })
}

/** Runs a transaction written by hand. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } finally {
    // Without a rollback: an error ends the measurement.
    client.release()
  }
}
