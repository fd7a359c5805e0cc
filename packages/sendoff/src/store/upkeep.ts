import type { DoctorRequest, Finding } from './findings.ts'
import type { PauseTarget } from './people.ts'
import type { StoredRouting } from './routing.ts'

/** Options of `migrate`. */
export interface MigrateOptions {
  /**
   * Whether to add the indexes that only a table with a routing has. A database may let this wait until older
   * transactions have ended. Default: true.
   */
  readonly destinationIndexes?: boolean
}

/** For the start, the end and the upkeep of an outbox. */
export interface OutboxUpkeep {
  /**
   * Brings the schema to the current revision, and recreates any part of it that was dropped. Many processes
   * may call it at once. Processes of the version before keep working. If another process is at a step that
   * takes long, it may resolve before that one is done.
   */
  migrate(options?: MigrateOptions): Promise<void>

  /**
   * Rejects with `OUTBOX_SCHEMA_NOT_READY` if no outbox can run on the schema before `migrate`. Rejects with
   * `OUTBOX_SCHEMA_TOO_NEW` if this code is too old for it. A schema of the version before is enough. Changes
   * nothing, and needs no right to create anything.
   */
  checkSchema(): Promise<void>

  readonly nodes: OutboxNodes

  /** Checks that the database responds, before any other call. Left out if the store uses no connection. */
  ping?(): Promise<void>

  /**
   * Returns what only the store knows to be wrong: settings, schema, indexes, sessions. Only reads, costs the
   * same however many rows there are, and needs only the right to read. What the database user may not read
   * is a finding itself. Left out if there is nothing to find.
   */
  doctor?(request: DoctorRequest): Promise<readonly Finding[]>

  /**
   * Called after a call got no response within `silentMs` milliseconds. Ends the connections on which the
   * store has waited for about as long. Also ends idle connections that have not responded since: the next
   * call must not wait on another dead one. Calls that wait on them fail.
   *
   * In transactions that the store has handed out, only their beginning and their end count: other statements
   * are the caller's. Left out if the store uses no connection. Never throws.
   */
  dropSilent?(silentMs: number): void

  /**
   * Does periodic work, such as creating time partitions ahead. Every process calls it at its start and once
   * an hour. Returns what an operator has to do, in words. Left out if there is no such work.
   */
  upkeep?(): Promise<readonly string[]>

  /**
   * Whether the error says that the database user may only read. Left out if the database has no such users.
   */
  refusedWrite?(error: unknown): boolean

  /** Closes what the store itself opened. Clients that were handed in stay open. */
  close(): Promise<void>
}

/** The processes that use the table. */
export interface OutboxNodes {
  /**
   * Registers a process for `ttlMs` milliseconds, or keeps it registered.
   *
   * The table has one mode at a time: that of its living processes. The store does not register a process
   * that asks for another mode. It returns the mode and the ids of the living processes. A process without a
   * mode joins any mode. A process that joins gets what is paused, the last mode that a process joined with,
   * and the stored routing.
   */
  join(node: NodeRequest): Promise<NodeAnswer>
  /** Ends the registration of a process. */
  leave(id: string): Promise<void>
}

/** A process that wants to use the table. */
export interface NodeRequest {
  readonly id: string
  readonly mode: string | null
  readonly ttlMs: number
}

/** Whether a process may use the table in its mode. */
export type NodeAnswer =
  | {
      readonly kind: 'joined'
      readonly paused: readonly PauseTarget[]
      readonly mode: string | null
      /** Left out by a store without this part. */
      readonly routing?: StoredRouting | null
    }
  | { readonly kind: 'conflict'; readonly mode: string; readonly nodes: readonly string[] }

/** Which old rows and idempotency keys to delete. */
export interface PurgeRequest {
  /** Deletes DONE rows that were settled more than this many milliseconds ago. Default: keeps all. */
  readonly doneOlderThanMs?: number
  /** Deletes DEAD rows that were settled more than this many milliseconds ago. Default: keeps all. */
  readonly deadOlderThanMs?: number
  /**
   * Deletes rows of any state that were written more than this many milliseconds ago. For tables from which
   * no process delivers. Default: keeps all.
   */
  readonly anyOlderThanMs?: number
  /** Deletes idempotency keys that were used more than this many milliseconds ago. Default: keeps all. */
  readonly idempotencyKeysOlderThanMs?: number
  readonly limit: number
  /** The cursor that the last batch returned. */
  readonly cursor?: PurgeCursor
}

/** The result of one batch of a purge. */
export interface PurgeResult {
  readonly deletedRows: number
  readonly deletedIdempotencyKeys: number
  /** Where the next batch begins; undefined if everything has been examined. */
  readonly cursor: PurgeCursor | undefined
}

/** A place in a purge. Only the store that made it can read it. */
export type PurgeCursor = string

/** Signals between processes that rows are due. A signal may get lost, or come without need. */
export interface OutboxWakeUps {
  /**
   * Calls back at each signal until the returned function is called. Calls back with an empty signal whenever
   * signals may have been missed.
   */
  listen(callback: (wakeUp: WakeUp) => void): Promise<() => Promise<void>>
  /** Signals at once, outside any transaction. */
  announce(wakeUp?: WakeUp): Promise<void>
}

/** The content of a signal. An empty one means that rows of any partition may be due now. */
export interface WakeUp {
  /** The partitions of the rows; any partition if left out. */
  readonly partitions?: readonly number[]
  /** In how many milliseconds rows fall due; now if left out. */
  readonly inMs?: readonly number[]
  /** Whether the pauses have changed. */
  readonly controls?: boolean
}
