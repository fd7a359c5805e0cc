import { OutboxError } from 'sendoff/store'
import { HiddenSecrets } from '../hidden-secrets.ts'
import type { ClientOptions, SqlOrOtherStore, StoreClient } from './store-client.ts'
import { readStoreUrl, shownUrl, type StoreUrl } from './store-url.ts'

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** The table of events, or the prefix of all keys in Redis. Default: `outbox_event`, in Redis `outbox`. */
  readonly table?: string
  /** The schema of the tables in PostgreSQL. Default: `public`. */
  readonly schema?: string
  /** Whether a missing SQLite file is created. Default: true. */
  readonly create?: boolean
  /** How many connections a pool has at most. Default: 10. */
  readonly connections?: number
}

/**
 * Opens the store at an address: `sqlite:app.db`, `postgres://…`, `mysql://…` or `redis://…`. Loads the
 * driver that is installed, and connects. `close()` of the store closes everything that was opened.
 *
 * Throws `OUTBOX_DRIVER_MISSING` if no driver is installed, and `OUTBOX_STORE_FAILED` if there is no server
 * or it refuses the user. No error contains the password.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<SqlOrOtherStore> {
  const target = readStoreUrl(url)
  const client = await makeClient(target, options)
  try {
    await client.connect()
  } catch (error) {
    await client.close().catch(() => {})
    throw error instanceof OutboxError ? error : connectionFailed(url, target, error)
  }
  const store = hasTimeParts(target) ? await storeAsMade(client) : client.storeOf()
  const close = onlyOnce(async () => {
    await store.close()
    await client.close()
  })
  return { ...store, close }
}

function hasTimeParts({ kind }: StoreUrl): boolean {
  return kind === 'postgres' || kind === 'mysql'
}

// The address does not say whether the table is divided by time, but only a store that knows fits the table.
async function storeAsMade({ storeOf }: StoreClient): Promise<SqlOrOtherStore> {
  for (const partitionBy of [undefined, 'day', 'week', 'month'] as const) {
    const store = storeOf(partitionBy)
    try {
      await store.checkSchema()
      return store
    } catch (error) {
      // All else is for the command to find: it may be one that creates the tables.
      if ((error as { readonly code?: unknown }).code !== 'OUTBOX_INVALID_OPTION') return store
    }
    await store.close()
  }
  return storeOf()
}

/** Returns the schema of the store at an address as SQL, without connecting; undefined if it has none. */
export async function schemaSqlOf(
  url: string,
  { from, ...options }: OpenStoreOptions & { readonly from?: number },
): Promise<string | undefined> {
  const { storeOf, close } = await makeClient(readStoreUrl(url), options)
  try {
    return storeOf().schemaSql?.(from === undefined ? {} : { from })
  } finally {
    await close()
  }
}

async function makeClient(target: StoreUrl, options: OpenStoreOptions): Promise<StoreClient> {
  const { table, schema, create = true, connections = 10 } = options
  const settings: ClientOptions = { table, schema, create, connections }
  if (schema !== undefined && target.kind !== 'postgres') {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'Only PostgreSQL has schemas: leave the option "schema" out.',
    )
  }
  // Each client is loaded alone: a command does not wait for the code of three other databases.
  switch (target.kind) {
    case 'sqlite':
      return (await import('./sqlite-client.ts')).sqliteClient(target.file, settings)
    case 'postgres':
      return (await import('./postgres-client.ts')).postgresClient(target.url, settings)
    case 'mysql':
      return (await import('./mysql-client.ts')).mysqlClient(target.url, settings)
    case 'redis':
      return (await import('./redis-client.ts')).redisClient(target.url, settings)
  }
}

// The error of the driver is no cause: some drivers keep the command that has the password in it.
function connectionFailed(url: string, target: StoreUrl, error: unknown): OutboxError {
  const secrets = new HiddenSecrets()
  secrets.addUrl(url)
  return new OutboxError(
    'OUTBOX_STORE_FAILED',
    secrets.hide(`Cannot connect to ${shownUrl(target)}: ${reasonOf(error)}. `) +
      'Check the address, the server, and the user with its password.',
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const inner = error instanceof AggregateError ? error.errors.map(reasonOf).join(', ') : ''
  const { code } = error as { readonly code?: unknown }
  return (error.message || inner || (typeof code === 'string' ? code : error.name)).replace(/\.$/, '')
}

function onlyOnce(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined
  return () => (closed ??= close())
}
