import { type PgPool, type PostgresJsSql, postgresStore } from 'sendoff/postgres'
import { given } from '../given.ts'
import { requirePackage } from './load-package.ts'
import { type ClientOptions, connectTimeoutMs, type StoreClient } from './store-client.ts'

/** Opens a store in PostgreSQL, by pg or postgres.js. */
export function postgresClient(url: URL, options: ClientOptions): StoreClient {
  const { name, module } = requirePackage('PostgreSQL', ['pg', 'postgres'])
  return name === 'pg'
    ? withPg(url, module as PgModule, options)
    : withPostgresJs(url, module as PostgresJsModule, options)
}

interface PgModule {
  readonly Pool: new (options: object) => PgPool & { end(): Promise<void> }
}

type PostgresJsModule = (
  url: string,
  options: object,
) => PostgresJsSql & { end(options: object): Promise<void> }

function withPg(url: URL, { Pool }: PgModule, { connections, table, schema }: ClientOptions): StoreClient {
  const pool = new Pool({
    connectionString: asLibpq(url).href,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'sendoff',
    keepAlive: true,
  })
  // The pool replaces a lost connection. The call that needed it reports the loss.
  pool.on('error', () => {})
  return {
    storeOf: (partitionBy) => postgresStore({ client: pool, ...given({ table, schema, partitionBy }) }),
    async connect() {
      const client = await pool.connect()
      client.release()
    },
    close: () => pool.end(),
  }
}

/**
 * Returns an address whose `sslmode` pg reads as psql and postgres.js do: `require` encrypts, and
 * `verify-full` also checks the certificate. By default, pg checks it with both, and warns.
 */
export function asLibpq(address: URL): URL {
  const url = new URL(address)
  const { searchParams } = url
  if (searchParams.has('sslmode') && !searchParams.has('uselibpqcompat'))
    searchParams.set('uselibpqcompat', 'true')
  return url
}

function withPostgresJs(
  url: URL,
  postgres: PostgresJsModule,
  { connections, table, schema }: ClientOptions,
): StoreClient {
  const sql = postgres(url.href, {
    max: connections,
    connect_timeout: connectTimeoutMs / 1_000,
    connection: { application_name: 'sendoff' },
    onnotice: () => {},
  })
  return {
    storeOf: (partitionBy) => postgresStore({ client: sql, ...given({ table, schema, partitionBy }) }),
    async connect() {
      await sql.unsafe('select 1')
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
