import type { TestContext } from 'node:test'
import pg from 'pg'
import type { NewRow, Row } from '../../../src/store/index.ts'
import type { PostgresStore, PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

export type PgStore = PostgresStore<pg.PoolClient>

export const lease = { owner: 'test', ms: 30_000 }

let made = 0

/** A schema of its own, gone with the test, and a pool to look at it. */
export async function newSchema(
  t: Pick<TestContext, 'after'>,
  url = process.env['POSTGRES_URL']!,
): Promise<{ schema: string; pool: pg.Pool; newPool: (config?: pg.PoolConfig) => pg.Pool }> {
  const schema = `test_${process.pid}_${++made}`
  const pools: pg.Pool[] = []
  const newPool = (config: pg.PoolConfig = {}) => {
    // What stands in a connection string goes before all else.
    const address = new URL(config.connectionString ?? url)
    if (config.user !== undefined) address.username = config.user
    const pool = new pg.Pool({ ...config, connectionString: address.href })
    pools.push(pool)
    return pool
  }
  const pool = newPool()
  t.after(async () => {
    try {
      await dropSchema(pool, schema)
    } finally {
      await Promise.all(pools.map((each) => each.end()))
    }
  })
  return { schema, pool, newPool }
}

// An outbox may still use the tables, and the server then ends one of the two.
async function dropSchema(pool: pg.Pool, schema: string): Promise<void> {
  const deadlock = '40P01'
  for (;;) {
    try {
      return void (await pool.query(`drop schema if exists "${schema}" cascade`))
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== deadlock) throw error
    }
  }
}

/** A migrated store on a schema of its own. */
export async function newStore(
  t: TestContext,
  options: Partial<PostgresStoreOptions<pg.Pool>> = {},
  url?: string,
): Promise<Awaited<ReturnType<typeof newSchema>> & { store: PgStore; table: string }> {
  const place = await newSchema(t, url)
  const { schema = place.schema, table = 'outbox_event', client = place.pool } = options
  const store = postgresStore({ ...options, client, schema, table })
  t.after(() => store.close())
  await store.migrate()
  return { ...place, store, table: `"${schema}"."${table}"` }
}

/** A role that may log in and nothing else, gone with the test. */
export async function newRole(t: TestContext, pool: pg.Pool, name: string): Promise<string> {
  const admin = new pg.Pool({ ...pool.options, max: 1 })
  await admin.query(`create role ${name} login`)
  t.after(async () => {
    await admin.query(`drop owned by ${name} cascade; drop role ${name}`)
    await admin.end()
  })
  return name
}

/** Runs `work` with a client of the pool, which gets it back whatever happens. */
export async function withClient<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  try {
    return await work(client)
  } finally {
    // Whatever was left open or set on it goes with it.
    client.release(true)
  }
}

export function processOf(client: pg.PoolClient): number {
  return (client as unknown as { processID: number }).processID
}

/** Resolves with the server process that waits for a lock of the process `holder`, as soon as there is one. */
export async function waitingFor(pool: pg.Pool, holder: number): Promise<number> {
  for (let look = 0; look < 10_000; look += 1) {
    const { rows } = await pool.query<{ pid: number }>(
      'select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
      [holder],
    )
    if (rows[0] !== undefined) return rows[0].pid
  }
  throw new Error('Nobody waits.')
}

export async function write(
  store: PgStore,
  count: number,
  fields?: Partial<NewRow>,
): Promise<readonly NewRow[]> {
  const rows = sampleRows(count, fields)
  await store.transaction((tx) => store.insert({ tx, rows, lease }))
  return rows
}

export function claim(store: PgStore, limit = 100, owner = lease.owner): Promise<readonly Row[]> {
  return store.claim({ lease: { ...lease, owner }, limit })
}

export async function settleDone(store: PgStore, rows: readonly Row[]): Promise<void> {
  const refused = await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'done' } })) })
  if (refused.length > 0) throw new Error(`${refused.length} settlements were refused.`)
}
