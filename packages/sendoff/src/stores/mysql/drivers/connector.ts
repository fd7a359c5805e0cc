import { IdleConnections } from '../../connection-waits.ts'
import type { Answer, MysqlSession, Value } from './mysql-driver.ts'

/** The part of a driver that differs from package to package. */
export interface Connector<Connection extends object> {
  readonly pool: object
  /** The size of the pool; undefined if the pool does not say. */
  readonly maxConnections: number | undefined
  acquire(): Promise<Connection>
  /** Returns a clean connection to the pool. */
  release(connection: Connection): Promise<void> | void
  /** Closes a connection whose state is unclear. */
  discard(connection: Connection): void
  /** Ends a connection without waiting for the server. */
  breakOff(connection: Connection): void
  /** Ends idle connections that have not responded for `silentMs` milliseconds. */
  dropIdle(silentMs: number): void
  /**
   * Whether the package puts a backslash before quotes in texts, even if the server does not support that.
   */
  readonly escapesByBackslash: boolean
  /** Methods of a connection that run the statement in their first parameter. */
  readonly watched: readonly PropertyKey[]
  /** Properties of a connection through which statements could pass unwatched. */
  readonly unwatched: readonly PropertyKey[]
}

/** A connection of any driver. It runs statements and knows the state of the server. */
export interface ConnectionSession extends MysqlSession {
  /** As `run`, by a statement that stays prepared on the connection. */
  runPrepared(text: string, values: readonly Value[]): Promise<Answer>
  /** Whether a transaction is open, as the server reports it. */
  inTransaction(): Promise<boolean>
}

const statusInTransaction = 1
const statusAutocommit = 2

/** Whether statements are part of a transaction. Without autocommit, the next statement begins one. */
export function tellsOfTransaction(status: number): boolean {
  return (status & statusInTransaction) !== 0 || (status & statusAutocommit) === 0
}

/** The events that pools of both packages emit about their connections. */
interface PoolEvents<Connection> {
  on(event: 'acquire' | 'release', listener: (connection: Connection) => void): unknown
}

// Many stores may share a pool. Listeners of each would add up, and Node would warn of a leak.
const idleOfPools = new WeakMap<object, object>()

/** Returns the idle connections of a pool, as far as its events have shown them. The same for all stores. */
export function idleConnectionsOf<Connection extends { once(event: 'end', listener: () => void): unknown }>(
  pool: object,
): IdleConnections<Connection> {
  const known = idleOfPools.get(pool)
  if (known !== undefined) return known as IdleConnections<Connection>

  const idle = new IdleConnections<Connection>()
  idleOfPools.set(pool, idle)
  const events = pool as PoolEvents<Connection>
  events.on('acquire', (connection) => idle.acquired(connection))
  events.on('release', (connection) => idle.released(connection))
  return idle
}
