import type { OutboxStore } from 'sendoff/store'

/** How a table of events is divided by time, as the option `partitionBy` of a store names it. */
export type TimeParts = 'day' | 'week' | 'month' | undefined

/** A client that was opened for a store. */
export interface StoreClient {
  /** Makes the store, for a table that is divided by time in this way. */
  readonly storeOf: (partitionBy?: TimeParts) => SqlOrOtherStore
  /** Connects once, so that a wrong address or password shows at once. */
  readonly connect: () => Promise<void>
  /** Closes the client. Its store is closed before. */
  readonly close: () => Promise<void>
}

/** A store. Those of databases can return their schema as SQL. */
export type SqlOrOtherStore = OutboxStore<unknown> & {
  readonly schemaSql?: (options?: { readonly from?: number }) => string
}

/** How a client is opened. */
export interface ClientOptions {
  /** The table of events; the prefix of all keys in Redis. */
  readonly table: string | undefined
  /** The schema of the tables in PostgreSQL. */
  readonly schema: string | undefined
  /** Whether a missing SQLite file is created. */
  readonly create: boolean
  /** How many connections a pool has at most. */
  readonly connections: number
}

/** How many milliseconds a server may take to accept a connection. */
export const connectTimeoutMs = 10_000
