import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, Pool, type PoolClient } from 'pg'
import { postgresStore } from '../../../packages/sendoff/src/stores/postgres/index.ts'
import type { FaultStore } from './fault-store.ts'
import { lockName, thief } from './lock-harms.ts'
import { accessFrom, openAll } from './server-access.ts'

const goodbyeMs = 100

/**
 * The server ends a transaction after so long if its client is gone unnoticed: others may wait for the keys
 * that it has locked.
 */
const idleTransactionMs = 3_000

/** A store on a server that is restarted, with sessions that are ended, and a network that loses data. */
export const postgresFaultStore: FaultStore = {
  // Only the driver needs the code that starts a server.
  site: async (folder, slots) => (await import('./postgres-site.ts')).postgresSite(folder, slots),

  open(location) {
    const { url: connectionString, poolSize, timeoutMs, isFull } = accessFrom(location)
    const timeouts =
      timeoutMs === undefined ? {} : { query_timeout: timeoutMs, connectionTimeoutMillis: timeoutMs }
    const sockets = new Set<Socket>()
    const pool = new Pool({
      connectionString,
      stream: () => addedTo(sockets),
      max: poolSize,
      idle_in_transaction_session_timeout: idleTransactionMs,
      ...timeouts,
    })
    if (isFull) openAll(poolSize, async () => (await pool.connect()).release())
    return {
      store: postgresStore({ client: pool }),
      async end() {
        await pool.end()
        // A silent connection never replies to a goodbye, and waiting for it would keep the process alive.
        await delay(goodbyeMs)
        for (const socket of sockets) socket.destroy()
      },
    }
  },

  prepare: (location) =>
    withClient(location, async (client) => {
      await client.query('create table business (id text primary key)')
    }),

  async addBusinessRow(tx: PoolClient, id) {
    await tx.query('insert into business (id) values ($1)', [id])
  },

  endSession(tx: PoolClient) {
    // Not awaited: the commit is on its way when the session ends.
    tx.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
  },

  businessRows: (location) =>
    withClient(location, async (client) => {
      const { rows } = await client.query<{ id: string }>('select id from business')
      return rows.map(({ id }) => id)
    }),

  lock: {
    token: (location) =>
      withClient(location, async (client) => {
        const sql = 'select token from outbox_event_lock where name = $1'
        const { rows } = await client.query<{ token: string }>(sql, [lockName])
        return rows[0]?.token
      }),

    delete: (location) =>
      withClient(location, async (client) => {
        await client.query('delete from outbox_event_lock where name = $1', [lockName])
      }),

    steal: (location, forMs) =>
      withClient(location, async (client) => {
        await client.query(
          `insert into outbox_event_lock (name, token, until)
           values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
               on conflict (name) do update
              set token = excluded.token, until = excluded.until,
                  low_at = null, low_seq = null, high_at = null, high_seq = null`,
          [lockName, thief, forMs],
        )
      }),
  },
}

// Collected from the beginning: the pool does not know a connection that the server refused and that could
// not be closed.
function addedTo(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  return socket.once('close', () => sockets.delete(socket))
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
