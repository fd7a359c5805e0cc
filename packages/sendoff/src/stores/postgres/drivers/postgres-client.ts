/** A pool of `pg`, as far as the store uses it. Transactions get its clients. */
export interface PgPool {
  connect(): Promise<PgClient>
  query(query: PgQuery, values: (string | null)[]): Promise<PgResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'acquire' | 'connect', listener: (client: PgClient) => void): unknown
  on(event: 'release', listener: (error: Error, client: PgClient) => void): unknown
  readonly idleCount?: number
  readonly options?: object
}

/** A client of `pg`. */
export interface PgClient {
  query(query: PgQuery | string, values?: (string | null)[]): Promise<PgResult>
  query(
    query: PgQuery,
    values: (string | null)[],
    callback: (error: Error | null, result: PgResult) => void,
  ): void
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  /** The number of the server's process, as the client learned it when it connected. */
  readonly processID?: number
  /** The state, if pg provides it: `I` idle, `T` in a transaction, `E` in one that failed. */
  getTransactionStatus?(): 'I' | 'T' | 'E' | null
  /**
   * The connection, if pg provides it: it emits an event for each statement that the server has completed,
   * and has the socket.
   */
  readonly connection?: {
    readonly stream?: { destroy?(): unknown }
    on?(event: 'commandComplete', listener: (message: { readonly text?: string }) => void): unknown
    removeListener?(
      event: 'commandComplete',
      listener: (message: { readonly text?: string }) => void,
    ): unknown
  }
}

/** A statement as `pg` takes it. */
export interface PgQuery {
  readonly name?: string
  readonly text: string
  rowMode: 'array'
  types?: { getTypeParser(): (value: string) => string }
}

/** The result of a statement of `pg`. */
export interface PgResult {
  readonly command: string
  readonly rows: unknown[]
}

/** The `sql` of postgres.js. Transactions get what `sql.begin` hands out. */
export interface PostgresJsSql {
  unsafe(text: string, values?: (string | null)[], options?: { prepare?: boolean }): PostgresJsQuery
  begin(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
  /** Takes a connection out of the pool. Versions before 3.4 have no such method. */
  reserve?(): PromiseLike<PostgresJsReserved>
  listen(
    channel: string,
    onNotification: (payload: string) => void,
    onListening?: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>
  readonly options: { readonly max: number; readonly socket?: unknown; readonly prepare?: boolean }
}

/** The `sql` of a connection that postgres.js has taken out of its pool. */
export interface PostgresJsReserved {
  unsafe(text: string, values?: (string | null)[], options?: { prepare?: boolean }): PostgresJsQuery
  release(): void
}

/** The `sql` of a transaction of postgres.js. */
export interface PostgresJsTransaction {
  unsafe(text: string, values?: (string | null)[], options?: { prepare?: boolean }): PostgresJsQuery
  savepoint(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
}

/** A statement of postgres.js, run when it is awaited. */
export interface PostgresJsQuery extends PromiseLike<readonly unknown[]> {
  /** Rows as arrays of undecoded bytes. */
  raw(): PromiseLike<PostgresJsRows>
}

/** Rows as arrays of undecoded bytes, and the process of the server that the client takes for its own. */
export type PostgresJsRows = readonly (readonly (Uint8Array | null)[])[] & {
  readonly state?: { readonly pid: number } | null
}

/** A PGlite database. Transactions get its transactions. */
export interface PgliteDatabase extends PgliteQueries {
  transaction(work: (tx: PgliteTransaction) => Promise<unknown>): Promise<unknown>
  listen(channel: string, onNotification: (payload: string) => void): Promise<() => Promise<void>>
  readonly dataDir?: string | undefined
}

/** A transaction of PGlite. */
export interface PgliteTransaction extends PgliteQueries {
  readonly closed: boolean
}

/** Runs statements of PGlite, in a transaction or without one. */
export interface PgliteQueries {
  query(text: string, values?: (string | null)[], options?: PgliteQueryOptions): Promise<{ rows: unknown[] }>
}

/** How PGlite returns rows. */
export interface PgliteQueryOptions {
  readonly rowMode?: 'array'
  readonly parsers?: Record<number, (value: string) => string>
}

/** A client that a store can use. */
export type PostgresClient = PgPool | PostgresJsSql | PgliteDatabase

/** Any other handle that can run statements in a transaction, such as one of an ORM or of its adapter. */
export type ForeignTransaction =
  | { query(text: string, values?: (string | null)[]): PromiseLike<{ readonly rows: readonly unknown[] }> }
  | { unsafe(text: string, values?: (string | null)[]): PromiseLike<readonly unknown[]> }

/** The handle that transactions on such a client get. */
export type PostgresTx<Client> = Client extends {
  begin: { (work: (tx: infer Tx) => unknown): unknown; (options: string, work: never): unknown }
}
  ? Tx
  : Client extends { transaction(work: (tx: infer Tx) => never): unknown }
    ? Tx
    : Client extends { connect: { (): Promise<infer Tx>; (callback: never): void } }
      ? Tx
      : Client extends { connect(): Promise<infer Tx> }
        ? Tx
        : never
