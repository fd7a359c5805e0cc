import type { EventStatus } from './event-status.ts'
import type { RowId, StoredRow } from './rows.ts'

/** Rows, for people and the tools that they use. */
export interface OutboxPeople {
  /** Rows that match, in write order. */
  query(filter: RowFilter): Promise<readonly StoredRow[]>

  /** How many rows match. */
  count(filter: CountFilter): Promise<number>

  /** Failed attempts at one row, oldest first. They stay when the row is replayed. */
  attempts(row: RowId): Promise<readonly FailedAttempt[]>

  /**
   * Makes DEAD rows NEW and due at once: attempts and losses at 0, without error, lease or end.
   * Other rows are left alone. Returns how many there were.
   */
  replay(rows: readonly RowId[]): Promise<number>
}

/** Which rows to find. */
export interface RowFilter {
  readonly status?: readonly EventStatus[]
  readonly eventType?: string
  readonly aggregateType?: string
  readonly aggregateId?: string
  readonly tenantId?: string
  readonly eventId?: string
  /** Those of any of these events; not together with `eventId`. */
  readonly eventIds?: readonly string[]
  readonly afterSeq?: number
  readonly limit: number
}

/** Which rows to count. */
export type CountFilter = Omit<RowFilter, 'limit' | 'afterSeq' | 'eventIds'>

/** One failure of a row. */
export interface FailedAttempt {
  readonly attempts: number
  readonly failedAt: number
  readonly error: string
  readonly lockedBy: string | null
}

/** Ordering keys, for people who watch over them. */
export interface OutboxOrderingKeys {
  /** Keys that do not go on by themselves, by name: their first pending row is blocked or has failed, or they are parked. */
  blocked(filter: BlockedKeyFilter): Promise<readonly BlockedKey[]>
  /** Makes the first pending row of a key due now, and lifts its block. False where it does not wait, or a process has it. */
  retry(orderingKey: string): Promise<boolean>
  /** Makes the first pending row of a key DEAD, with `reason`. A process that holds it cannot settle it any more. False where there is none. */
  skip(request: SkipRequest): Promise<boolean>
  /** Nothing of this key is delivered until it is unparked. */
  park(orderingKey: string): Promise<void>
  /** Lifts `park`. */
  unpark(orderingKey: string): Promise<void>
}

/** The key whose first row is given up, and why. */
export interface SkipRequest {
  readonly orderingKey: string
  readonly reason: string
}

/** Which blocked keys to find. */
export interface BlockedKeyFilter {
  readonly limit: number
  /** Only keys behind this one. */
  readonly after?: string
}

/** An ordering key that does not go on by itself. */
export interface BlockedKey {
  readonly orderingKey: string
  readonly isParked: boolean
  /** Its first pending row; undefined for a parked key without one. */
  readonly head: StoredRow | undefined
  /** How many rows are pending behind it: `maxCountedWaiting` stands for that many and more. */
  readonly waiting: number
}

/** How far the rows behind a blocked one are counted. */
export const maxCountedWaiting = 1_000

/** Switches that people set while the system runs, in force for every claim and read at once. */
export interface OutboxControls {
  /** Rows of this event type, or for this destination, stay where they are until it is lifted. */
  pause(target: PauseTarget): Promise<void>
  /** Lifts `pause`. */
  resume(target: PauseTarget): Promise<void>
  /** What is paused. */
  paused(): Promise<readonly PauseTarget[]>
}

/** An event type or a destination that can be paused. */
export type PauseTarget = { readonly eventType: string } | { readonly destination: string }
