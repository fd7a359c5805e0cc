import type { Finding } from '../../../store/index.ts'
import type { Mutex } from '../../mutex.ts'

/**
 * One statement. It is prepared under its name, which is unique to its text. Without a name, it runs
 * unprepared.
 */
export interface Statement {
  readonly name?: string
  readonly text: string
}

/**
 * Parameters and results of statements are text only. They are then the same with every driver, whatever type
 * parsers and serializers its user has set.
 */
export type Value = string | null

/** Something that runs statements. */
export interface PostgresSession {
  run(statement: Statement, values?: readonly Value[]): Promise<readonly (readonly Value[])[]>
}

/**
 * One way to talk to PostgreSQL. A statement run on the driver itself takes any connection and is its own
 * transaction.
 */
export interface PostgresDriver<Tx extends object> extends PostgresSession {
  /** Whether committed rows outlive the process. */
  readonly durable: boolean
  /** Whether other processes can connect to the same database. */
  readonly multiProcess: boolean
  /** The mutex of a client with a single connection, which a transaction keeps to its end. */
  readonly onlyConnection: Mutex | undefined

  /**
   * Resolves only when the server has confirmed the commit. `isolation` is the level in SQL; undefined for
   * the server's default.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, isolation?: string): Promise<Result>

  /** Runs `work` in a part of `tx` that can be undone alone. */
  nested<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result>

  /** Returns a session in the transaction of `tx`. Throws if that is known to have ended. */
  session(tx: Tx): PostgresSession

  /** The same for a transaction of the engine: the store waits for all of its statements. */
  ownSession?(tx: Tx): PostgresSession | undefined

  /** Whether a transaction is open on `tx`; undefined if only the server knows. */
  inTransaction(tx: Tx): boolean | undefined

  /** Ends silent connections, as `dropSilent` of a store does. Left out if the client offers no way. */
  dropSilent?(silentMs: number): void

  /** Client options that could keep a store from noticing a dead connection. */
  readonly warnings?: readonly Finding[]

  /** Whether a pooler is between the client and the server. Left out if the client does not show it. */
  isPooled?(): Promise<boolean>

  /** Calls back at each notification with its text, and without one whenever some may have been missed. */
  listen(channel: string, callback: (text?: string) => void): Promise<() => Promise<void>>
}

/** Options of a driver, as `postgresStore` takes them. */
export interface DriverOptions {
  readonly prepare?: boolean | undefined
}

/** Returns a column of a result as text, however a foreign driver has decoded it. */
export function asText(value: unknown): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  return value instanceof Uint8Array ? Buffer.from(value).toString() : JSON.stringify(value)
}
