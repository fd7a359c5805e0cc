import type { EventStatus } from '../../event/status.ts'
import type { EventRow, NewRow, Row, StoredRow } from '../../store.ts'

/**
 * What was written of a row, as one text: a line of JSON with what scripts look at, one with the rest, and the
 * payload as it is. Bytes are kept as base64, so that clients need not be told to answer bytes.
 */
export function textOfRow(row: NewRow): string {
  const isText = typeof row.payload === 'string'
  const head = [row.eventId, row.destination, row.eventType, row.aggregateType, row.aggregateId, row.tenantId]
  const rest = [row.orderingKey, row.partitionNo, row.contentType, row.headers, row.occurredAt, isText]
  // Halves of characters, which Lua's JSON refuses, are what they would be in UTF-8.
  const first = JSON.stringify(head.map((value) => value?.toWellFormed() ?? null))
  const payload = isText ? row.payload : Buffer.from(row.payload).toString('base64')
  return `${first}\n${JSON.stringify(rest)}\n${payload}`
}

/** How many values `claimedRows` takes for each row. */
const valuesPerRow = 8

/** Makes rows of a script's answer: name, attempts, deliveries, losses, due time, time of the write, holder, text of each. */
export function claimedRows(values: readonly unknown[]): Row[] {
  const rows: Row[] = []
  for (let index = 0; index < values.length; index += valuesPerRow) {
    const event = eventRow(values[index + 7] as string)
    rows.push({
      seq: Number(values[index]),
      eventId: event.eventId,
      destination: event.destination,
      eventType: event.eventType,
      aggregateType: event.aggregateType,
      aggregateId: event.aggregateId,
      tenantId: event.tenantId,
      orderingKey: event.orderingKey,
      partitionNo: event.partitionNo,
      payload: event.payload,
      contentType: event.contentType,
      headers: event.headers,
      attempts: values[index + 1] as number,
      deliveries: values[index + 2] as number,
      losses: values[index + 3] as number,
      availableAt: values[index + 4] as number,
      occurredAt: event.occurredAt,
      createdAt: values[index + 5] as number,
      lockedBy: values[index + 6] as string | null,
    })
  }
  return rows
}

type StateValues = readonly [
  status: EventStatus,
  attempts: number,
  deliveries: number,
  losses: number,
  availableAt: number,
  createdAt: number,
  lockedBy: string | null,
  lockedUntil: number | null,
  doneAt: number | null,
  blockedAt: number | null,
  lastError: string | null,
]

export function storedRow([member, state, text]: readonly [string, StateValues, string]): StoredRow {
  const [status, attempts, deliveries, losses, availableAt, createdAt, lockedBy] = state
  const [, , , , , , , lockedUntil, doneAt, blockedAt, lastError] = state
  return {
    seq: Number(member),
    ...eventRow(text),
    attempts,
    deliveries,
    losses,
    availableAt,
    createdAt,
    lockedBy,
    status,
    doneAt,
    lastError,
    lockedUntil,
    blockedAt,
  }
}

type Head = [string, string, string, string, string | null, string | null]
type Rest = [string | null, number | null, string | null, string | null, number, boolean]

function eventRow(text: string): EventRow {
  const headEnd = text.indexOf('\n')
  const restEnd = text.indexOf('\n', headEnd + 1)
  const head = JSON.parse(text.slice(0, headEnd)) as Head
  const rest = JSON.parse(text.slice(headEnd + 1, restEnd)) as Rest
  const payload = text.slice(restEnd + 1)
  return {
    eventId: head[0],
    destination: head[1],
    eventType: head[2],
    aggregateType: head[3],
    aggregateId: head[4],
    tenantId: head[5],
    orderingKey: rest[0],
    partitionNo: rest[1],
    payload: rest[5] ? payload : new Uint8Array(Buffer.from(payload, 'base64')),
    contentType: rest[2],
    headers: rest[3],
    occurredAt: rest[4],
  }
}
