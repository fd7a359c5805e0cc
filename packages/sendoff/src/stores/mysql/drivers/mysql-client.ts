/** A promise pool of `mysql2`, as far as the store uses it. Transactions get its connections. */
export interface Mysql2Pool {
  getConnection(): Promise<Mysql2Connection>
  query(query: Mysql2Query): Promise<[unknown, unknown]>
}

/** A pool of `mysql2` with callbacks, used through its promises. */
export interface Mysql2CallbackPool {
  promise(): Mysql2Pool
}

/** A connection of `mysql2/promise`. */
export interface Mysql2Connection {
  query(query: Mysql2Query): Promise<[unknown, unknown]>
  execute(query: Mysql2Query): Promise<[unknown, unknown]>
  release(): void
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** A connection of `mysql2` with callbacks, which is also behind each one with promises. */
export interface Mysql2Core {
  query(query: Mysql2Query, callback: Mysql2Callback): unknown
  execute(query: Mysql2Query, callback: Mysql2Callback): unknown
}

type Mysql2Callback = (error: Error | null, result: unknown) => void

/** A statement, with all settings that a pool's user may have changed. */
export interface Mysql2Query {
  readonly sql: string
  readonly values: (string | number | Buffer | null)[]
  readonly rowsAsArray: true
  readonly typeCast: true | ((field: unknown, next: () => unknown) => unknown)
  readonly nestTables: false
  readonly namedPlaceholders: false
}

/** A pool of `mariadb`, as far as the store uses it. Transactions get its connections. */
export interface MariadbPool {
  getConnection(): Promise<MariadbConnection>
  query(query: MariadbQuery, values: unknown[]): Promise<unknown>
  activeConnections(): number
}

/** A connection of `mariadb`. */
export interface MariadbConnection {
  query(query: MariadbQuery, values: unknown[]): Promise<unknown>
  execute(query: MariadbQuery, values: unknown[]): Promise<unknown>
  release(): Promise<void>
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  readonly info: { readonly status?: unknown } | null
}

/** A statement, with all settings that a pool's user may have changed. */
export interface MariadbQuery {
  readonly sql: string
  readonly rowsAsArray: true
  readonly bigIntAsNumber: true
  readonly insertIdAsNumber: true
  readonly metaAsArray: false
  readonly nestTables: false
  readonly namedPlaceholders: false
}

/** The clients that a MySQL store takes. */
export type MysqlClient = Mysql2Pool | Mysql2CallbackPool | MariadbPool

/** The handle that transactions on such a client get: a connection of its driver. */
export type MysqlTx<Client> = Client extends { promise(): { getConnection(): Promise<infer Tx> } }
  ? Tx
  : Client extends { getConnection(): Promise<infer Tx> }
    ? Tx
    : never
