import { IdleConnections } from '../../connection-waits.ts'
import type { Answer, MysqlSession, Value } from './mysql-driver.ts'

/** What makes one driver package different from another. */
export interface Connector<Connection extends object> {
  readonly pool: object
  /** How many connections the pool may have, where it tells. */
  readonly maxConnections: number | undefined
  acquire(): Promise<Connection>
  /** Gives a connection back that is as good as before. */
  release(connection: Connection): Promise<void> | void
  /** Closes a connection whose state is unclear. */
  discard(connection: Connection): void
  /** Ends a connection without waiting for the other side. */
  breakOff(connection: Connection): void
  /** Ends idle connections that were not heard from for so long. */
  dropIdle(silentMs: number): void
  /** Whether it puts a backslash before quotes in texts, whatever the server makes of that. */
  readonly escapesByBackslash: boolean
  /** Methods of a connection that run the statement which is their first parameter. */
  readonly watched: readonly PropertyKey[]
  /** Properties of a connection that lead around it. */
  readonly unwatched: readonly PropertyKey[]
}

/** A connection of whichever driver, as a place where statements run and that knows the state of the server. */
export interface ConnectionSession extends MysqlSession {
  /** As `run`, by a statement that stays prepared on the connection. */
  runPrepared(text: string, values: readonly Value[]): Promise<Answer>
  /** Whether a transaction is open, by the server's own word. */
  inTransaction(): Promise<boolean>
}

const statusInTransaction = 1
const statusAutocommit = 2

/** Whether statements are part of a transaction, which without autocommit the next one begins. */
export function tellsOfTransaction(status: number): boolean {
  return (status & statusInTransaction) !== 0 || (status & statusAutocommit) === 0
}

/** What pools of both packages tell of their connections. */
interface PoolEvents<Connection> {
  on(event: 'acquire' | 'release', listener: (connection: Connection) => void): unknown
}

/** The idle connections of a pool, as far as it has told of them. */
export function idleConnectionsOf<Connection extends { once(event: 'end', listener: () => void): unknown }>(
  pool: object,
): IdleConnections<Connection> {
  const idle = new IdleConnections<Connection>()
  const events = pool as PoolEvents<Connection>
  events.on('acquire', (connection) => idle.acquired(connection))
  events.on('release', (connection) => idle.released(connection))
  return idle
}
