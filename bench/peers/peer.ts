import type { PoolClient } from 'pg'
import type { OnEvent, RunningWorker } from '../store-bench.ts'

/**
 * Another system on PostgreSQL that accepts work within a transaction, in the best configuration found for
 * it.
 */
export interface Peer {
  readonly name: string
  /** Most events of a drain, for peers that would take minutes. */
  readonly maxEvents?: number
  readonly singleProcess?: true
  /** Creates the peer's tables in an empty database. */
  setUp(url: string): Promise<void>
  openWriter(url: string): Promise<PeerWriter>
  work(url: string, onEvent: OnEvent): Promise<RunningWorker>
  /** Counts the jobs that wait or have failed. */
  readonly leftSql: string
}

export interface PeerWriter {
  /** Adds events to the open transaction of `client`. */
  write(client: PoolClient, number: number): Promise<unknown>
  writeAll(client: PoolClient, first: number, count: number): Promise<unknown>
  close(): Promise<void>
}
