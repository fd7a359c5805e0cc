import type { StoreWith } from '../../src/store/index.ts'

/** A private database with a table `orders (id, total)`, and the particulars of its kind. */
export interface TestDatabase {
  readonly url: string
  /** Runs a statement outside of every transaction. */
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Returns the committed ids that start with `prefix-`. */
  orders(prefix: string): Promise<readonly string[]>
  /** Returns a store on connections of its own. */
  store(table: string): StoreWith<any, 'people'>
  /** Drops the database. All other connections must be closed before. */
  drop(): Promise<void>

  /** Adds an order; its parameter is the id. */
  readonly insertOrder: string
  /** Selects an order; its parameter is the id. */
  readonly selectOrder: string
  /** A statement that returns its parameters, to show how they arrive. */
  readonly echo: {
    readonly sql: string
    readonly values: (text: string) => unknown[]
    readonly row: (text: string) => object
  }
  /** Returns whether an error is that of a duplicate key. */
  readonly isDuplicate: (error: unknown) => boolean
  /** A statement that succeeds and makes the commit fail; left out if the database checks nothing so late. */
  readonly refusesCommit?: string
  /** What happens to a transaction after a failed statement, except after a deadlock. */
  readonly afterFailedStatement: 'is rolled back' | 'goes on'
  /** Returns whether a transaction is serializable, by the locks that its reads leave. */
  isSerializable(run: (sql: string) => PromiseLike<unknown>): Promise<boolean>
}

export type CreateDatabase = () => Promise<TestDatabase>
