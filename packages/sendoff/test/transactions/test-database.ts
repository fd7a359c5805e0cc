import type { StoreWith } from '../../src/store/index.ts'

/** A database of one's own with a table `orders (id, total)`, and what is particular to its kind. */
export interface TestDatabase {
  readonly url: string
  /** Runs a statement outside of every transaction. */
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** The ids that start with `prefix-`, as they are committed. */
  orders(prefix: string): Promise<readonly string[]>
  /** A store on connections that are nobody else's. */
  store(table: string): StoreWith<any, 'people'>
  /** After everything else that is connected was closed. */
  drop(): Promise<void>

  /** Adds an order with the id that is its parameter. */
  readonly insertOrder: string
  /** Selects the order with the id that is its parameter. */
  readonly selectOrder: string
  /** A statement that answers its parameters, by which it is seen how they arrive. */
  readonly echo: {
    readonly sql: string
    readonly values: (text: string) => unknown[]
    readonly row: (text: string) => object
  }
  /** Whether an error is that of a key that is there already. */
  readonly isDuplicate: (error: unknown) => boolean
  /** A statement that succeeds and makes the commit fail; left out where the database checks nothing so late. */
  readonly refusesCommit?: string
  /** What becomes of a transaction in which a statement failed, other than by a deadlock. */
  readonly afterFailedStatement: 'is rolled back' | 'goes on'
  /** Whether a transaction is serializable, by the locks that stay behind what it reads. */
  isSerializable(run: (sql: string) => PromiseLike<unknown>): Promise<boolean>
}

export type CreateDatabase = () => Promise<TestDatabase>
