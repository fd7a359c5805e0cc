import type { EventStatus } from './event-status.ts'

/** The row id: an event, and its destination (`''` unless the event fans out). */
export interface RowId {
  readonly eventId: string
  readonly destination: string
}

/** The part of a row that describes its event. The store keeps and returns it unchanged. */
export interface EventRow extends RowId {
  readonly eventType: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly orderingKey: string | null
  /** 0 to 255, derived from the ordering key; null without one. */
  readonly partitionNo: number | null
  /** JSON as text, or bytes. Stored and returned exactly. */
  readonly payload: string | Uint8Array
  /** Null for JSON. */
  readonly contentType: string | null
  /** A JSON object as text; null without headers. */
  readonly headers: string | null
  /** Epoch milliseconds, like every time in this contract. */
  readonly occurredAt: number
}

/** A row, as claims and polls return it. */
export interface Row extends EventRow {
  /** Rises in write order. */
  readonly seq: number
  /** How many failures counted. */
  readonly attempts: number
  /** The fence: rises with every claim, born-claimed insert, loss and settlement, and never falls. */
  readonly deliveries: number
  /** How many holders in succession vanished while they held this row. */
  readonly losses: number
  readonly availableAt: number
  readonly createdAt: number
  readonly lockedBy: string | null
}

/** A row as operators see it. */
export interface StoredRow extends Row {
  readonly status: EventStatus
  readonly doneAt: number | null
  readonly lastError: string | null
  readonly lockedUntil: number | null
  readonly blockedAt: number | null
}

/** A row that a process holds. `lockedBy` is null if the owner of a lock read it without a claim. */
export interface HeldRow extends RowId {
  readonly seq: number
  readonly deliveries: number
  readonly lockedBy: string | null
  /** The epoch of the row's partition when its owner read the row. */
  readonly epoch?: number | undefined
  /**
   * The partition of the row, as the row itself says. If rows of many partitions and epochs name it, a store
   * may settle them faster.
   */
  readonly partitionNo?: number | null | undefined
}

/** A row that an owner read without a claim, and its fence at that time. */
export type FencedRow = Pick<HeldRow, 'seq' | 'deliveries'>

/** A place in the order in which rows fall due. */
export interface DuePlace {
  readonly availableAt: number
  readonly seq: number
}

/** The longest delay of an event, in milliseconds: a hundred years. Every store can add it to its clock. */
export const maxDelayMs = 3_155_760_000_000
