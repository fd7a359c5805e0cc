import type { PauseTarget } from './people.ts'

/** For the start, the end and the upkeep of an outbox. */
export interface OutboxUpkeep {
  /** Brings the schema to the current version, and makes what was dropped of it. Many processes may call it at once. */
  migrate(): Promise<void>

  /**
   * Changes nothing, and rejects with `OUTBOX_SCHEMA_NOT_READY` where `migrate` would have something to do. Needs no right to
   * create anything.
   */
  checkSchema(): Promise<void>

  readonly nodes: OutboxNodes

  /** Asks the database for a sign of life, before anything else is asked of it. Left out where calls go over no connection. */
  ping?(): Promise<void>

  /** What of the database's settings could lose events, in words for people. Left out where nothing can. */
  doctor?(): Promise<readonly string[]>

  /**
   * Told that a call was not answered within `silentMs`. Ends the connections over which the store has waited for an answer for about as
   * long, and those that are idle and were not heard from since: the next call must not wait for another dead one. What
   * waits on them fails. Statements of transactions that the store has handed out are their caller's, apart from their beginning
   * and their end. Left out where calls go over no connection. Never throws.
   */
  dropSilent?(silentMs: number): void

  /**
   * Does what is needed now and then, such as making parts of a table ahead of time: every process calls it at its start and once
   * an hour. Returns what a person has to do, in words. Left out where nothing is needed.
   */
  upkeep?(): Promise<readonly string[]>

  /** Lets go of what the store itself opened. Clients that were handed in stay open. */
  close(): Promise<void>
}

/** The processes that use the table. */
export interface OutboxNodes {
  /**
   * Registers a process for `ttlMs`, or keeps it registered. The table has one mode at a time: that
   * of its living processes. One that asks for another is not registered, and is told which mode
   * the living have. A process without a mode goes with all. The answer says what is paused, and with which mode a process joined
   * last.
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
  | { readonly kind: 'joined'; readonly paused: readonly PauseTarget[]; readonly mode: string | null }
  | { readonly kind: 'conflict'; readonly mode: string; readonly nodes: readonly string[] }

/** Which old rows and idempotency keys to delete. */
export interface PurgeRequest {
  /** DONE rows that were settled longer ago; all are kept where left out. */
  readonly doneOlderThanMs?: number
  /** DEAD rows that were settled longer ago; all are kept where left out. */
  readonly deadOlderThanMs?: number
  /** Rows of any state that were written longer ago: for tables from which no process delivers. */
  readonly anyOlderThanMs?: number
  /** Idempotency keys that were used longer ago; all are kept where left out. */
  readonly idempotencyKeysOlderThanMs?: number
  readonly limit: number
  /** Where the last batch ended, as its result said. */
  readonly cursor?: PurgeCursor
}

/** What one batch of a purge deleted. */
export interface PurgeResult {
  readonly deletedRows: number
  readonly deletedIdempotencyKeys: number
  /** Where to go on; undefined when everything has been looked at. */
  readonly cursor: PurgeCursor | undefined
}

/** Only the store that made it knows what it says. */
export type PurgeCursor = string

/** Signals between processes that there is something to deliver. They may get lost, and may come without need. */
export interface OutboxWakeUps {
  /** Calls back at each signal, and with an empty one whenever signals may have been missed, until it is told to stop. */
  listen(callback: (wakeUp: WakeUp) => void): Promise<() => Promise<void>>
  /** Signals at once, outside any transaction. */
  announce(wakeUp?: WakeUp): Promise<void>
}

/** What a signal tells. An empty one stands for something to deliver anywhere, now. */
export interface WakeUp {
  /** The partitions of the rows; any where left out. */
  readonly partitions?: readonly number[]
  /** The milliseconds after which rows fall due; at once where left out. */
  readonly inMs?: readonly number[]
  /** Whether what is paused has changed. */
  readonly controls?: boolean
}
