import type { EventStatus } from '../../../store/event-status.ts'
import type { OrderedRow, Row, StoredRow } from '../../../store/index.ts'

type Values = readonly unknown[]

/** A time as epoch milliseconds, exactly: every time is stored in whole ones. */
export function inMs(time: string): string {
  return `timestampdiff(microsecond, '1970-01-01', ${time}) div 1000`
}

/** The columns of a `Row` of the table called `event`, in the order in which `readRow` takes their values. */
export const rowColumns = `
         event.seq, event.event_id, event.destination, event.event_type, event.aggregate_type, event.aggregate_id,
         event.tenant_id, event.ordering_key, event.partition_no, event.payload, event.payload_bytes,
         event.content_type, event.headers, event.attempts, event.deliveries, event.losses,
         ${inMs('event.available_at')}, ${inMs('event.occurred_at')}, ${inMs('event.created_at')}, event.locked_by`

/** The columns of a `StoredRow`, in the order in which `readStoredRow` takes their values. */
export const storedColumns = `${rowColumns},
         event.status, ${inMs('event.done_at')}, event.last_error, ${inMs('event.locked_until')},
         ${inMs('event.blocked_at')}`

/** Makes a `Row` from the values of `rowColumns`. */
export function readRow(values: Values): Row {
  return {
    seq: Number(values[0]),
    eventId: String(values[1]),
    destination: String(values[2]),
    eventType: String(values[3]),
    aggregateType: String(values[4]),
    aggregateId: textOf(values[5]),
    tenantId: textOf(values[6]),
    orderingKey: textOf(values[7]),
    partitionNo: numberOf(values[8]),
    payload: textOf(values[9]) ?? bytesOf(values[10] as Uint8Array | null),
    contentType: textOf(values[11]),
    headers: textOf(values[12]),
    attempts: Number(values[13]),
    deliveries: Number(values[14]),
    losses: Number(values[15]),
    availableAt: Number(values[16]),
    // A date of zeros has no such value.
    occurredAt: Number(values[17] ?? Number.NaN),
    createdAt: Number(values[18]),
    lockedBy: textOf(values[19]),
  }
}

/** Makes a `StoredRow` from the values of `storedColumns`. */
export function readStoredRow(values: Values): StoredRow {
  return {
    ...readRow(values),
    status: Number(values[20]) as EventStatus,
    doneAt: numberOf(values[21]),
    lastError: textOf(values[22]),
    lockedUntil: numberOf(values[23]),
    blockedAt: numberOf(values[24]),
  }
}

/** Returns a number, or null for none. */
export function numberOf(value: unknown): number | null {
  return value === null ? null : Number(value)
}

/**
 * Makes an `OrderedRow` from the values of `rowColumns`, followed by its wait in microseconds; -1 for a wait
 * without an end.
 */
export function readOrderedRow(values: Values): OrderedRow {
  const wait = Number(values[20])
  return { ...readRow(values), waitMs: wait < 0 ? Infinity : Math.ceil(wait / 1_000) }
}

/** Returns a text, or null for none. */
export function textOf(value: unknown): string | null {
  return value === null ? null : asText(value)
}

// Some settings of a server turn binary columns into text, and some drivers turn text into bytes.
function asText(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)
}

// We do not return a Buffer: it is more than was stored, and may share its memory. A row without any payload
// was changed by hand. It is returned as it is, and the engine sets it aside.
function bytesOf(bytes: Uint8Array | null): Uint8Array {
  return bytes === null ? (bytes as never) : new Uint8Array(bytes)
}
