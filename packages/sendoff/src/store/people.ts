import type { NewAuditEntry } from './actions.ts'
import type { EventStatus } from './event-status.ts'
import type { RowId, StoredRow } from './rows.ts'

/** Rows, for operators and their tools. */
export interface OutboxPeople {
  /** Returns the rows that match, in write order. */
  query(filter: RowFilter): Promise<readonly StoredRow[]>

  /** Returns how many rows match. */
  count(filter: CountFilter): Promise<number>

  /** Returns the failed attempts at one row, oldest first. They stay when the row is replayed. */
  attempts(row: RowId): Promise<readonly FailedAttempt[]>
}

/** Which rows to find. */
export interface RowFilter {
  readonly status?: readonly EventStatus[]
  readonly eventType?: string
  readonly aggregateType?: string
  readonly aggregateId?: string
  readonly tenantId?: string
  readonly destination?: string
  readonly eventId?: string
  /** Finds the rows of any of these events; not together with `eventId`. */
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

/**
 * Ordering keys, for operators. A key is blocked or parked for each destination on its own. With `audit`, a
 * call that changes something adds this entry in the same transaction, if the store has `actions`.
 */
export interface OutboxOrderingKeys {
  /**
   * Returns the keys of one destination that need an operator, by name: those that are parked, or whose first
   * pending row is blocked or has failed.
   */
  blocked(filter: BlockedKeyFilter): Promise<readonly BlockedKey[]>
  /**
   * Makes the first pending row of a key due now, and lifts its block. Returns false if the row does not
   * wait, or if a process holds it.
   */
  retry(key: KeyName, audit?: NewAuditEntry): Promise<boolean>
  /**
   * Makes the first pending row of a key DEAD, with `reason`. A process that holds it cannot settle it any
   * more. Returns false if no row is pending.
   */
  skip(request: SkipRequest, audit?: NewAuditEntry): Promise<boolean>
  /** Stops the delivery of this key until it is unparked. */
  park(key: KeyName, audit?: NewAuditEntry): Promise<void>
  /** Lifts `park`. */
  unpark(key: KeyName, audit?: NewAuditEntry): Promise<void>
}

/** An ordering key of one destination. */
export interface KeyName {
  readonly orderingKey: string
  /** Default: the empty one. */
  readonly destination?: string | undefined
}

/** The key whose first row is skipped, and why. */
export interface SkipRequest extends KeyName {
  readonly reason: string
}

/** Which blocked keys to find. */
export interface BlockedKeyFilter {
  readonly limit: number
  /** Finds only keys behind this one, by name. */
  readonly after?: string
  /** Finds keys of this destination. Default: of the empty one. */
  readonly destination?: string
}

/** An ordering key that is parked, or whose first pending row is blocked or has failed. */
export interface BlockedKey {
  readonly orderingKey: string
  readonly isParked: boolean
  /** Its first pending row; undefined for a parked key without one. */
  readonly head: StoredRow | undefined
  /** How many rows are pending behind it. `maxCountedWaiting` stands for that many or more. */
  readonly waiting: number
}

/** Returns the kind of the controls that park keys of a destination, for stores with a table of controls. */
export function parkKind(destination = ''): string {
  return destination === '' ? 'park' : `park/${destination}`
}

/** How many rows behind a blocked one are counted at most. */
export const maxCountedWaiting = 1_000

/**
 * Switches that operators set while the system runs. They apply to every claim and read at once. With
 * `audit`, a call adds this entry in the same transaction, if the store has `actions`.
 */
export interface OutboxControls {
  /**
   * Stops the delivery of an event type, or to a destination, until `resume`. Its rows stay where they are.
   */
  pause(target: PauseTarget, audit?: NewAuditEntry): Promise<void>
  /** Lifts `pause`. */
  resume(target: PauseTarget, audit?: NewAuditEntry): Promise<void>
  /** Returns what is paused. */
  paused(): Promise<readonly PauseTarget[]>
}

/** An event type or a destination that can be paused. */
export type PauseTarget = { readonly eventType: string } | { readonly destination: string }
