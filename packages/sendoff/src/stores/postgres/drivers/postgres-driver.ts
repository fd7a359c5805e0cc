import type { Mutex } from '../../mutex.ts'

/** One statement. It is prepared under its name, which no other text has; without one, it is run as it is. */
export interface Statement {
  readonly name?: string
  readonly text: string
}

/**
 * What statements are given and what they answer: text alone. The same then comes in and goes out
 * with every driver, and whatever type parsers and serializers its user has set.
 */
export type Value = string | null

/** Where statements run. */
export interface PostgresSession {
  run(statement: Statement, values?: readonly Value[]): Promise<readonly (readonly Value[])[]>
}

/** One way to talk to PostgreSQL. Run on its own, a statement takes any connection and is a transaction. */
export interface PostgresDriver<Tx extends object> extends PostgresSession {
  /** Whether what was committed outlives the process. */
  readonly durable: boolean
  /** Whether others can connect to the same database. */
  readonly multiProcess: boolean
  /** Stands for the connection where there is but one, which a transaction keeps to its end. */
  readonly onlyConnection: Mutex | undefined

  /**
   * Resolves only when the server has confirmed the commit. `isolation` is the level as SQL has it, and
   * undefined for the server's default.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, isolation?: string): Promise<Result>

  /** Runs `work` in a part of `tx` that can be undone alone. */
  nested<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result>

  /** Runs statements in the transaction of `tx`; throws if that is known to have ended. */
  session(tx: Tx): PostgresSession

  /** The same for a transaction of the engine: all of it is the store's to wait for. */
  ownSession?(tx: Tx): PostgresSession | undefined

  /** Whether a transaction is open on `tx`; undefined where only the server can tell. */
  inTransaction(tx: Tx): boolean | undefined

  /** Ends connections that are silent, as a store does. Left out where the client offers no way. */
  dropSilent?(silentMs: number): void

  /** What of the client's options could keep a store from noticing a dead connection, in words. */
  readonly warnings?: readonly string[]

  /** Calls back at each notification with its text, and without one whenever some may have been missed. */
  listen(channel: string, callback: (text?: string) => void): Promise<() => Promise<void>>
}

/** Options of a driver, as `postgresStore` takes them. */
export interface DriverOptions {
  readonly prepare: boolean
}

/** A column of an answer as text, however a driver that is not ours has decoded it. */
export function asText(value: unknown): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value).toString() : JSON.stringify(value)
}
