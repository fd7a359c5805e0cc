import { randomBytes } from 'node:crypto'
import { Client, Pool, type QueryResultRow } from 'pg'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { serverErrorOf } from '../../src/stores/postgres/postgres-errors.ts'
import type { TestDatabase } from './test-database.ts'

/** An empty private database on the server of `POSTGRES_URL`. */
export interface PostgresDatabase {
  readonly url: string
  /** Runs a statement outside of every transaction. */
  readonly query: (sql: string, values?: unknown[]) => Promise<QueryResultRow[]>
  /** Waits for connections that are about to end. */
  drop(): Promise<void>
}

export async function postgresDatabase(): Promise<PostgresDatabase> {
  const name = `orm_${randomBytes(6).toString('hex')}`
  const server = new Client(process.env['POSTGRES_URL'])
  await server.connect()
  await server.query(`create database ${name}`)
  // Otherwise the server searches for a deadlock only after a second.
  await server.query(`alter database ${name} set deadlock_timeout = '10ms'`)

  const url = new URL(process.env['POSTGRES_URL']!)
  url.pathname = `/${name}`
  const client = new Client(url.href)
  await client.connect()

  return {
    url: url.href,
    query: async (sql, values) => (await client.query<QueryResultRow>(sql, values)).rows,
    async drop() {
      await client.end()
      await server.query(`drop database ${name}`)
      await server.end()
    },
  }
}

export async function postgresOrders(): Promise<TestDatabase> {
  const database = await postgresDatabase()
  const { url, query } = database
  await query('create table orders (id text primary key, total integer not null default 0)')
  await query('create table items (order_id text references orders deferrable initially deferred)')
  const pool = new Pool({ connectionString: url })

  return {
    url,
    query,
    async orders(prefix) {
      const rows = await query('select id from orders where id like $1 order by id', [`${prefix}-%`])
      return rows.map((row) => String(row['id']))
    },
    store: (table) => postgresStore({ client: pool, table }),
    async drop() {
      await pool.end()
      await database.drop()
    },

    insertOrder: 'insert into orders values ($1::text)',
    selectOrder: 'select id from orders where id = $1::text',
    echo: {
      sql: `select $1::text as some_text, $2::text as "noText", $3::int as number, $4::boolean as flag,
                   encode($5::bytea, 'hex') as bytes, $6::jsonb ->> 'text' as json, to_json($7::text[])::text as list,
                   $1::text = $1::text as again`,
      values: (text) => [
        text,
        null,
        42,
        true,
        new Uint8Array([0, 255, 39, 92]),
        JSON.stringify({ text }),
        ['a', text, null],
      ],
      row: (text) => ({
        some_text: text,
        noText: null,
        number: 42,
        flag: true,
        bytes: '00ff275c',
        json: text,
        list: JSON.stringify(['a', text, null]),
        again: true,
      }),
    },
    isDuplicate: (error) => serverErrorOf(error)?.code === '23505',
    refusesCommit: `insert into items values ('no such order')`,
    afterFailedStatement: 'is rolled back',
    async isSerializable(run) {
      await run('select count(*) from orders')
      const locks = `select 1 from pg_locks where mode = 'SIReadLock' and relation = 'orders'::regclass`
      return (await query(locks)).length > 0
    },
  }
}
