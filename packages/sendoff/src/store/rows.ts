import type { EventStatus } from './event-status.ts'

/** The row id: an event, and where it goes (`''` unless the event fans out). */
export interface RowId {
  readonly eventId: string
  readonly destination: string
}

/** What an event says of itself, as the store keeps and returns it. */
export interface EventRow extends RowId {
  readonly eventType: string
  readonly aggregateType: string
  readonly aggregateId: string | null
  readonly tenantId: string | null
  readonly orderingKey: string | null
  /** 0 to 255, from the ordering key; null without one. */
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

/** A row as read for delivery. */
export interface Row extends EventRow {
  /** Rises in write order. */
  readonly seq: number
  /** Failures that count. */
  readonly attempts: number
  /** The fence: rises with every claim, born-claimed insert and settlement, and never falls. */
  readonly deliveries: number
  /** How many holders in a row vanished while they held this row. */
  readonly losses: number
  readonly availableAt: number
  readonly createdAt: number
  readonly lockedBy: string | null
}

/** A row as shown to people. */
export interface StoredRow extends Row {
  readonly status: EventStatus
  readonly doneAt: number | null
  readonly lastError: string | null
  readonly lockedUntil: number | null
  readonly blockedAt: number | null
}

/** A row that a process holds. `lockedBy` is null where the owner of a lock read it without a claim. */
export interface HeldRow extends RowId {
  readonly seq: number
  readonly deliveries: number
  readonly lockedBy: string | null
  /** That of the row's partition when its owner read the row. */
  readonly epoch?: number | undefined
  /** As the row says. Rows of many partitions and epochs that name theirs may be settled at less cost. */
  readonly partitionNo?: number | null | undefined
}

/** A row that an owner read without a claim, and how often it had been delivered then. */
export type FencedRow = Pick<HeldRow, 'seq' | 'deliveries'>

/** A place in the order in which rows fall due. */
export interface DuePlace {
  readonly availableAt: number
  readonly seq: number
}

/** The longest delay of an event: a hundred years. Every store can add it to its clock. */
export const maxDelayMs = 3_155_760_000_000
