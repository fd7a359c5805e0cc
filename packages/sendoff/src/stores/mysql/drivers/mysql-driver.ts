import type { TransactionOptions } from '../../../transactions.ts'
import type { Mutex } from '../../mutex.ts'

/** A parameter of a statement. Times are text, lists of numbers stand in the statement itself. */
export type Value = string | number | Buffer | null

/** Rows as arrays, in the order of the columns. */
export type Rows = readonly (readonly unknown[])[]

/** What is known of a statement that ran in the caller's transaction. */
export interface CallersAnswer {
  readonly rows: Rows
  /** Of the only row that it added; left out where the handle does not tell. */
  readonly insertId?: number
}

/** Where statements of the caller run. */
export interface CallersSession {
  run(text: string, values?: readonly Value[]): Promise<CallersAnswer>
  /** As `run`, by a statement that stays prepared on its connection. Left out where the handle cannot, or must not. */
  runPrepared?(text: string, values: readonly Value[]): Promise<CallersAnswer>
  /**
   * Throws where the transaction has ended on the server unseen, as by a deadlock, so that an insert would be
   * kept by itself. Left out where that is seen.
   */
  assertInTransaction?(): Promise<void>
}

/** What the server says of a statement of the store itself. */
export interface Answer extends CallersAnswer {
  readonly insertId: number
  /**
   * How many rows were added, changed or deleted. Rows that an UPDATE left as they were count or not,
   * as the pool's user has set.
   */
  readonly affectedRows: number
}

/** Where statements of the store itself run. */
export interface MysqlSession {
  run(text: string, values?: readonly Value[]): Promise<Answer>
}

/** Runs statements and transactions of the store itself. Run on its own, a statement takes any connection and is a transaction. */
export interface StoreDriver extends MysqlSession {
  /** Whether it puts a backslash before quotes in texts, whatever the server makes of that. */
  readonly escapesByBackslash: boolean

  /** Runs `work` on one connection, without a transaction. */
  connected<Result>(work: (session: MysqlSession) => Promise<Result>): Promise<Result>

  /**
   * Runs `work` in a transaction of the store itself, at READ COMMITTED: at the level above it, which is
   * the default, statements would lock what lies between rows, too, and writers would wait for claims.
   */
  briefly<Result>(work: (session: MysqlSession) => Promise<Result>): Promise<Result>
}

/** One way to talk to the server, for the store itself and for its callers. */
export interface MysqlDriver<Tx extends object> extends StoreDriver {
  /** Stands for the connection where there is but one, which a transaction keeps to its end. */
  readonly onlyConnection: Mutex | undefined

  /** Runs a transaction of the caller. Resolves only when the server has confirmed the commit. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TransactionOptions): Promise<Result>

  /** Runs `work` in a part of `tx` that can be undone alone. */
  nested<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result>

  /** Runs statements in the transaction of `tx`; throws if that is known to have ended. */
  session(tx: Tx): CallersSession

  /** Whether rows written now are kept whenever the transaction of `tx` is. */
  keepsRows(tx: Tx): boolean

  /** Whether a transaction is open on `tx`; undefined where the handle cannot tell. */
  inTransaction(tx: Tx): Promise<boolean | undefined>

  /** Ends connections that are silent, as a store does. */
  dropSilent(silentMs: number): void
}

/** How a driver sends statements. */
export interface DriverOptions {
  readonly prepare: boolean
}
