import type { EventStatus } from '../../../store/event-status.ts'
import type { Row, StoredRow } from '../../../store/index.ts'
import type { Value } from '../drivers/postgres-driver.ts'

/**
 * A time as epoch milliseconds, exactly: every time is stored in whole ones. We do not cast to bigint, which
 * fails the whole statement for an infinite time. One row that was written by hand would then make all others
 * unreadable.
 */
export function inMs(time: string): string {
  return `round(date_part('epoch', ${time}) * 1000)`
}

/**
 * The columns of a `Row` of the table called `from`, in the order in which `readRow` takes their values. A
 * value that is mostly 0, empty or equal to another is null in that case: neither side has to convert it to
 * text.
 */
export function rowColumns(from: string): string {
  return `
         ${from}.seq, ${from}.event_id, nullif(${from}.destination, ''), ${from}.event_type, ${from}.aggregate_type,
         ${from}.aggregate_id, ${from}.tenant_id, ${from}.ordering_key, ${from}.partition_no, ${from}.payload,
         encode(${from}.payload_bytes, 'base64'), ${from}.content_type, ${from}.headers, nullif(${from}.attempts, 0),
         nullif(${from}.deliveries, 0), nullif(${from}.losses, 0),
         ${inMs(`nullif(${from}.available_at, ${from}.created_at)`)}, ${inMs(`${from}.occurred_at`)},
         ${inMs(`${from}.created_at`)}, ${from}.locked_by`
}

/** The columns of a `StoredRow`, in the order in which `readStoredRow` takes their values. */
export function storedColumns(from: string): string {
  return `${rowColumns(from)},
         ${from}.status, ${inMs(`${from}.done_at`)}, ${from}.last_error, ${inMs(`${from}.locked_until`)},
         ${inMs(`${from}.blocked_at`)}`
}

/** Makes rows from their values. The first value of each is at `start`. */
export function readRows(answer: readonly (readonly Value[])[], start = 0): Row[] {
  let before: Row | undefined
  return answer.map((values) => (before = readRow(values, start, before)))
}

/** Makes a row from its values. Names that equal those of the row before share one string. */
export function readRow(values: readonly Value[], start = 0, before?: Row): Row {
  const createdAt = Number(values[start + 18])
  return {
    seq: Number(values[start]),
    eventId: values[start + 1]!,
    destination: values[start + 2] ?? '',
    eventType: kept(values[start + 3]!, before?.eventType),
    aggregateType: kept(values[start + 4]!, before?.aggregateType),
    aggregateId: kept(values[start + 5]!, before?.aggregateId),
    tenantId: kept(values[start + 6]!, before?.tenantId),
    orderingKey: kept(values[start + 7]!, before?.orderingKey),
    partitionNo: numberOf(values[start + 8]!),
    payload: values[start + 9] ?? bytesOf(values[start + 10] ?? null),
    contentType: values[start + 11]!,
    headers: values[start + 12]!,
    attempts: Number(values[start + 13]),
    deliveries: Number(values[start + 14]),
    losses: Number(values[start + 15]),
    availableAt: numberOf(values[start + 16]!) ?? createdAt,
    occurredAt: Number(values[start + 17]),
    createdAt,
    lockedBy: values[start + 19]!,
  }
}

function kept(text: string, before: Value | undefined): string {
  return text === before ? before : text
}

/** Makes a stored row from its values. */
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

// We do not return a Buffer: it is more than was stored, and may share its memory. A row without any payload
// was changed by hand. It is returned as it is, and the engine sets it aside.
function bytesOf(base64: Value): Uint8Array {
  return base64 === null ? (base64 as never) : new Uint8Array(Buffer.from(base64, 'base64'))
}
