import pg from 'pg'
import { postgresStore } from 'sendoff/postgres'
import type { BenchDatabase, BenchDatabases, Conditions } from '../../store-bench.ts'
import type { TableState } from '../../suites/sustained.ts'
import { concurrentWriters } from '../../suites/write.ts'
import { createOrders, insertOrder } from './orders.ts'
import {
  createDatabase,
  databaseExists,
  databaseUrl,
  serverCpuUs,
  tidy,
  transactionCount,
  withClient,
} from './postgres-server.ts'

// Enough for all writers, and for the delivery beside them.
const poolSize = concurrentWriters + 4

/** Databases of the server that was started for the run, or that `POSTGRES_URL` names. */
export const postgresDatabases: BenchDatabases<pg.PoolClient> = {
  async create(name, conditions) {
    const url = await createDatabase(name, conditions)
    await createOrders(url)
    const database = postgresDatabase(name, conditions)
    const store = database.openStore()
    await store.migrate()
    await store.close()
    return database
  },

  open: async (name, conditions) => postgresDatabase(name, conditions),
  exists: databaseExists,
  serverCpuUs,
}

function postgresDatabase(name: string, conditions: Conditions): BenchDatabase<pg.PoolClient> {
  const url = databaseUrl(name, conditions)
  const pool = new pg.Pool({ connectionString: url, max: poolSize })
  return {
    openStore: (table) => postgresStore({ client: pool, ...(table !== undefined && { table }) }),
    insertOrder,
    tidy: () => tidy(url),
    counts: async () => ({ idleTransactionsPerSecond: await transactionCount(name, conditions) }),
    close: () => pool.end(),
  }
}

/**
 * Returns the state of the outbox's table by the server's statistics, which lag behind by a second at most.
 */
export function tableState(name: string, conditions: Conditions): Promise<TableState> {
  return withClient(databaseUrl(name, conditions), async (client) => {
    const { rows } = await client.query<{ dead: string; bytes: string }>(`
      select n_dead_tup as dead, pg_total_relation_size(relid) as bytes
        from pg_stat_user_tables
       where relname = 'outbox_event'`)
    return { deadRows: Number(rows[0]!.dead), megabytes: Number(rows[0]!.bytes) / 2 ** 20 }
  })
}
