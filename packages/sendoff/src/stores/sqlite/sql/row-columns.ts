import type { EventStatus } from '../../../store/event-status.ts'
import type { OrderedRow, Row, StoredRow } from '../../../store/index.ts'

/** The columns of a `Row`, in the order in which `readRow` takes their values. */
export const rowColumns = `
         seq, event_id, destination, event_type, aggregate_type, aggregate_id, tenant_id, ordering_key,
         partition_no, payload, content_type, headers, attempts, deliveries, losses, ${inRange('available_at')},
         ${inRange('occurred_at')}, ${inRange('created_at')}, locked_by`

/** The columns of a `StoredRow`, in the order in which `readStoredRow` takes their values. */
export const storedColumns = `${rowColumns},
         status, ${inRange('done_at')}, last_error, ${inRange('locked_until')}, ${inRange('blocked_at')}`

/**
 * A time within the safe integers of JavaScript. If a row has a larger number, node:sqlite refuses to read
 * any row of the statement. One row that was written by hand would then make all others unreadable.
 */
export function inRange(time: string): string {
  return `max(min(${time}, ${Number.MAX_SAFE_INTEGER}), ${Number.MIN_SAFE_INTEGER})`
}

type RowValues = readonly [
  seq: number,
  eventId: string,
  destination: string,
  eventType: string,
  aggregateType: string,
  aggregateId: string | null,
  tenantId: string | null,
  orderingKey: string | null,
  partitionNo: number | null,
  payload: string | Uint8Array,
  contentType: string | null,
  headers: string | null,
  attempts: number,
  deliveries: number,
  losses: number,
  availableAt: number,
  occurredAt: number,
  createdAt: number,
  lockedBy: string | null,
]

type StoredValues = readonly [
  ...RowValues,
  status: EventStatus,
  doneAt: number | null,
  lastError: string | null,
  lockedUntil: number | null,
  blockedAt: number | null,
]

/** A row that was just read, which the caller may still change. */
export type ReadRow = { -readonly [Field in keyof Row]: Row[Field] }

/**
 * Makes a row from its values. With node:sqlite this takes 1.5 µs in all. The objects that node:sqlite makes
 * itself take 2.1 µs; they have no prototype and are slow to use. With better-sqlite3 it makes no difference.
 */
export function readRow(values: unknown): ReadRow {
  const row = inOrder<RowValues>(values)

  return {
    seq: row[0],
    eventId: row[1],
    destination: row[2],
    eventType: row[3],
    aggregateType: row[4],
    aggregateId: row[5],
    tenantId: row[6],
    orderingKey: row[7],
    partitionNo: row[8],
    payload: plainPayload(row[9]),
    contentType: row[10],
    headers: row[11],
    attempts: row[12],
    deliveries: row[13],
    losses: row[14],
    availableAt: row[15],
    occurredAt: row[16],
    createdAt: row[17],
    lockedBy: row[18],
  }
}

/** Makes a row for operators from its values. */
export function readStoredRow(values: unknown): StoredRow {
  const row = inOrder<StoredValues>(values)

  return {
    ...readRow(row),
    status: row[19],
    doneAt: row[20],
    lastError: row[21],
    lockedUntil: row[22],
    blockedAt: row[23],
  }
}

/**
 * Makes an ordered row from the columns of a `Row`, followed by its wait in milliseconds; null for a wait
 * without an end.
 */
export function readOrderedRow(values: unknown): OrderedRow {
  const row = inOrder<readonly [...RowValues, waitMs: number | null]>(values)

  return { ...readRow(row), waitMs: row[19] ?? Infinity }
}

/**
 * Returns the values of a row that was asked for as an array. Before Node 22.16 node:sqlite makes objects
 * only, in the order of the columns.
 */
export function inOrder<Values>(values: unknown): Values {
  return (Array.isArray(values) ? values : Object.values(values as object)) as Values
}

// better-sqlite3 returns bytes as a Buffer, which is more than was stored.
function plainPayload(payload: string | Uint8Array): string | Uint8Array {
  return payload instanceof Buffer
    ? new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
    : payload
}
