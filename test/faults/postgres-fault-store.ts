import { Client, Pool, type PoolClient } from 'pg'
import { postgresStore } from '../../packages/sendoff/src/stores/postgres/index.ts'
import type { FaultStore } from './fault-store.ts'

/** A server that is restarted, sessions that are ended, and a network that loses what is sent over it. */
export const postgresFaultStore: FaultStore = {
  // Only the driver needs what it takes to have a server.
  site: async (folder, slots) => (await import('./postgres-site.ts')).postgresSite(folder, slots),

  open(location) {
    const { connectionString, poolSize, timeoutMs } = accessFrom(location)
    const timeouts =
      timeoutMs === undefined ? {} : { query_timeout: timeoutMs, connectionTimeoutMillis: timeoutMs }
    const pool = new Pool({ connectionString, max: poolSize, ...timeouts })
    return { store: postgresStore({ client: pool }), end: () => pool.end() }
  },

  prepare: (location) =>
    withClient(location, async (client) => {
      await client.query('create table business (id text primary key)')
    }),

  async addBusinessRow(tx: PoolClient, id) {
    await tx.query('insert into business (id) values ($1)', [id])
  },

  endSession(tx: PoolClient) {
    // Nobody waits for it: the commit is on its way when the session ends.
    tx.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
  },

  businessRows: (location) =>
    withClient(location, async (client) => {
      const { rows } = await client.query<{ id: string }>('select id from business')
      return rows.map(({ id }) => id)
    }),
}

/** What a slot is told about its pool is part of the address. */
function accessFrom(location: string) {
  const url = new URL(location)
  const { pool = '10', timeout_ms: timeoutMs } = Object.fromEntries(url.searchParams)
  url.searchParams.delete('pool')
  url.searchParams.delete('timeout_ms')
  return {
    connectionString: url.href,
    poolSize: Number(pool),
    timeoutMs: timeoutMs === undefined ? undefined : Number(timeoutMs),
  }
}

async function withClient<Result>(
  location: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client(location)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
