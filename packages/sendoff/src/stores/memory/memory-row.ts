import { EventStatus } from '../../store/event-status.ts'
import type { Lease, NewRow, Row, RowId, StoredRow } from '../../store/index.ts'

/** A row as the store keeps it. The store never hands it out: callers get copies. */
export type MemoryRow = { -readonly [Field in keyof StoredRow]: StoredRow[Field] }

/** Makes the stored row of an insert. */
export function newMemoryRow(row: NewRow, seq: number, lease: Lease | undefined, now: number): MemoryRow {
  return {
    seq,
    eventId: row.eventId,
    destination: row.destination,
    eventType: row.eventType,
    aggregateType: row.aggregateType,
    aggregateId: row.aggregateId,
    tenantId: row.tenantId,
    orderingKey: row.orderingKey,
    partitionNo: row.partitionNo,
    payload: copyOf(row.payload),
    contentType: row.contentType,
    headers: row.headers,
    status: EventStatus.NEW,
    attempts: 0,
    deliveries: row.claimed ? 1 : 0,
    losses: 0,
    availableAt: Math.ceil('at' in row.due ? row.due.at : now + row.due.inMs),
    occurredAt: row.occurredAt,
    createdAt: now,
    doneAt: null,
    lastError: null,
    lockedBy: row.claimed ? lease!.owner : null,
    lockedUntil: row.claimed ? Math.ceil(now + lease!.ms) : null,
    blockedAt: null,
  }
}

/** Copies a row for delivery. */
export function asRow(stored: MemoryRow): Row {
  return {
    seq: stored.seq,
    eventId: stored.eventId,
    destination: stored.destination,
    eventType: stored.eventType,
    aggregateType: stored.aggregateType,
    aggregateId: stored.aggregateId,
    tenantId: stored.tenantId,
    orderingKey: stored.orderingKey,
    partitionNo: stored.partitionNo,
    payload: copyOf(stored.payload),
    contentType: stored.contentType,
    headers: stored.headers,
    attempts: stored.attempts,
    deliveries: stored.deliveries,
    losses: stored.losses,
    availableAt: stored.availableAt,
    occurredAt: stored.occurredAt,
    createdAt: stored.createdAt,
    lockedBy: stored.lockedBy,
  }
}

/** Copies a row for operators. */
export function asStoredRow(row: MemoryRow): StoredRow {
  return { ...row, payload: copyOf(row.payload) }
}

/** Returns a row id as text, for use in a map. */
export function rowIdText({ eventId, destination }: RowId): string {
  return `${eventId}\0${destination}`
}

// A caller can change the bytes that it gets.
function copyOf(payload: string | Uint8Array): string | Uint8Array {
  return typeof payload === 'string' ? payload : new Uint8Array(payload)
}
