import { randomBytes } from 'node:crypto'
import { Client, type QueryResultRow } from 'pg'

/** An empty database of one's own on the server of `POSTGRES_URL`. */
export interface TestDatabase {
  readonly url: string
  /** Runs a statement outside of every transaction. */
  query(sql: string, values?: unknown[]): Promise<QueryResultRow[]>
  drop(): Promise<void>
}

export async function testDatabase(): Promise<TestDatabase> {
  const name = `orm_${randomBytes(6).toString('hex')}`
  const server = new Client(process.env['POSTGRES_URL'])
  await server.connect()
  await server.query(`create database ${name}`)

  const url = new URL(process.env['POSTGRES_URL']!)
  url.pathname = `/${name}`
  const client = new Client(url.href)
  await client.connect()

  return {
    url: url.href,
    query: async (sql, values) => (await client.query<QueryResultRow>(sql, values)).rows,
    async drop() {
      await client.end()
      // Waits for connections that are still about to end.
      await server.query(`drop database ${name}`)
      await server.end()
    },
  }
}

/** One with the table `orders`. Drop it after everything that is connected to it was closed. */
export async function ordersDatabase(): Promise<TestDatabase> {
  const database = await testDatabase()
  await database.query('create table orders (id text primary key, total integer not null default 0)')
  return database
}
