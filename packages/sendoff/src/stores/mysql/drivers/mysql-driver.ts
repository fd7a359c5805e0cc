import type { TransactionOptions } from '../../../transactions.ts'
import type { Mutex } from '../../mutex.ts'

/** A parameter of a statement. Times are text; lists of numbers are in the statement itself. */
export type Value = string | number | Buffer | null

/** Rows as arrays, in the order of the columns. */
export type Rows = readonly (readonly unknown[])[]

/** The result of a statement in the caller's transaction. */
export interface CallersAnswer {
  readonly rows: Rows
  /** The number of the only row added; left out if the handle does not say. */
  readonly insertId?: number
}

/** Runs statements of the caller. */
export interface CallersSession {
  run(text: string, values?: readonly Value[]): Promise<CallersAnswer>
  /**
   * As `run`, by a statement that stays prepared on its connection. Left out if the handle cannot or must not
   * do so.
   */
  runPrepared?(text: string, values: readonly Value[]): Promise<CallersAnswer>
  /**
   * Throws if the transaction has ended on the server unseen, as by a deadlock: an insert would then be kept
   * by itself. Left out if the handle notices that.
   */
  assertInTransaction?(): Promise<void>
}

/** The result of a statement of the store itself. */
export interface Answer extends CallersAnswer {
  readonly insertId: number
  /**
   * How many rows were added, changed or deleted. A setting of the pool's user decides whether rows that an
   * UPDATE left unchanged count.
   */
  readonly affectedRows: number
}

/** Runs statements of the store itself. */
export interface MysqlSession {
  run(text: string, values?: readonly Value[]): Promise<Answer>
}

/**
 * Runs statements and transactions of the store itself. A statement run on the driver takes any connection
 * and is its own transaction.
 */
export interface StoreDriver extends MysqlSession {
  /**
   * Whether the package puts a backslash before quotes in texts, even if the server does not support that.
   */
  readonly escapesByBackslash: boolean

  /** Runs `work` on one connection, without a transaction. */
  connected<Result>(work: (session: MysqlSession) => Promise<Result>): Promise<Result>

  /**
   * Runs `work` in a transaction of the store itself, at READ COMMITTED. At the default level, which is
   * higher, statements would also lock the gaps between rows, and writers would wait for claims.
   */
  briefly<Result>(work: (session: MysqlSession) => Promise<Result>): Promise<Result>
}

/**
 * A driver of the store itself that knows how rows are locked on its server, and how long statements may be.
 */
export interface LockingDriver extends StoreDriver {
  /**
   * Whether statements skip rows that another transaction has locked. Otherwise they first read rows without
   * locking them, and then lock those by their keys: see `lockedRows`. The first call may ask the server, on
   * `session` if it is given.
   */
  skipsLocked(session?: CallersSession): Promise<boolean>

  /**
   * How many characters the parameters of one statement may have: see `mostCharactersFor`. As `skipsLocked`.
   */
  mostCharacters(session?: CallersSession): Promise<number>
}

/** One way to talk to the server, for the store itself and for its callers. */
export interface MysqlDriver<Tx extends object> extends StoreDriver {
  /** The mutex of a client with a single connection, which a transaction keeps to its end. */
  readonly onlyConnection: Mutex | undefined

  /** Runs a transaction of the caller. Resolves only when the server has confirmed the commit. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: TransactionOptions): Promise<Result>

  /** Runs `work` in a part of `tx` that can be undone alone. */
  nested<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result>

  /** Returns a session in the transaction of `tx`. Throws if that is known to have ended. */
  session(tx: Tx): CallersSession

  /** Whether rows written now are kept whenever the transaction of `tx` is. */
  keepsRows(tx: Tx): boolean

  /** Whether a transaction is open on `tx`; undefined if the handle does not say. */
  inTransaction(tx: Tx): Promise<boolean | undefined>

  /** Ends silent connections, as `dropSilent` of a store does. */
  dropSilent(silentMs: number): void
}

/** How a driver sends statements. */
export interface DriverOptions {
  readonly prepare: boolean
}
