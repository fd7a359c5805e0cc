import type { EventStatus } from '../../event/status.ts'
import type { Row, StoredRow } from '../../store.ts'
import type { Value } from './postgres-driver.ts'

/** A time as epoch milliseconds, exactly: every time is stored in whole ones. */
export function inMs(time: string): string {
  return `(date_part('epoch', ${time}) * 1000)::bigint`
}

/**
 * The columns of a `Row` of the table called `from`, in the order in which `readRow` takes their values. What is mostly 0 or empty
 * is then null, of which neither side has to make a text.
 */
export function rowColumns(from: string): string {
  return `
         ${from}.seq, ${from}.event_id, nullif(${from}.destination, ''), ${from}.event_type, ${from}.aggregate_type,
         ${from}.aggregate_id, ${from}.tenant_id, ${from}.ordering_key, ${from}.partition_no, ${from}.payload,
         encode(${from}.payload_bytes, 'base64'), ${from}.content_type, ${from}.headers, nullif(${from}.attempts, 0),
         nullif(${from}.deliveries, 0), nullif(${from}.losses, 0), ${inMs(`${from}.available_at`)},
         ${inMs(`${from}.occurred_at`)}, ${inMs(`${from}.created_at`)}, ${from}.locked_by`
}

/** The columns of a `StoredRow`, in the order in which `readStoredRow` takes their values. */
export function storedColumns(from: string): string {
  return `${rowColumns(from)},
         ${from}.status, ${inMs(`${from}.done_at`)}, ${from}.last_error, ${inMs(`${from}.locked_until`)},
         ${inMs(`${from}.blocked_at`)}`
}

/** Makes a row of its values, of which the first is at `start`. */
export function readRow(values: readonly Value[], start = 0): Row {
  const at = (column: number) => values[start + column] as string
  const textAt = (column: number) => values[start + column] ?? null

  return {
    seq: Number(at(0)),
    eventId: at(1),
    destination: textAt(2) ?? '',
    eventType: at(3),
    aggregateType: at(4),
    aggregateId: textAt(5),
    tenantId: textAt(6),
    orderingKey: textAt(7),
    partitionNo: numberOf(textAt(8)),
    payload: textAt(9) ?? bytesOf(at(10)),
    contentType: textAt(11),
    headers: textAt(12),
    attempts: Number(textAt(13)),
    deliveries: Number(textAt(14)),
    losses: Number(textAt(15)),
    availableAt: Number(at(16)),
    occurredAt: Number(at(17)),
    createdAt: Number(at(18)),
    lockedBy: textAt(19),
  }
}

export function readStoredRow(values: readonly Value[]): StoredRow {
  return {
    ...readRow(values),
    status: Number(values[20]) as EventStatus,
    doneAt: numberOf(values[21] ?? null),
    lastError: values[22] ?? null,
    lockedUntil: numberOf(values[23] ?? null),
    blockedAt: numberOf(values[24] ?? null),
  }
}

function numberOf(text: Value): number | null {
  return text === null ? null : Number(text)
}

// A Buffer is more than was stored, and may share its memory with others.
function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'))
}
