import type { PoolClient } from 'pg'
import type { OnEvent, RunningWorker } from '../store-bench.ts'

/** Another system on PostgreSQL that takes work within a transaction, in the best configuration found for it. */
export interface Peer {
  readonly name: string
  /** For those that would take minutes. */
  readonly maxEvents?: number
  readonly singleProcess?: true
  /** Makes its tables in an empty database. */
  setUp(url: string): Promise<void>
  openWriter(url: string): Promise<PeerWriter>
  work(url: string, onEvent: OnEvent): Promise<RunningWorker>
  /** Counts what is waiting or has failed. */
  readonly leftSql: string
}

export interface PeerWriter {
  /** Adds events to the transaction that `client` has open. */
  write(client: PoolClient, number: number): Promise<unknown>
  writeAll(client: PoolClient, first: number, count: number): Promise<unknown>
  close(): Promise<void>
}
