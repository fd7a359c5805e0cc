import type { EventStatus } from '../../store/event-status.ts'
import type { EventRow, NewRow, Row, StoredRow } from '../../store/index.ts'

/**
 * Writes the fixed fields of a row as one text: a line of JSON, and the payload as it is. Bytes are kept as
 * base64, so that clients only have to return text. Scripts read the first six values.
 */
export function textOfRow(row: NewRow): string {
  const isText = typeof row.payload === 'string'
  const line = JSON.stringify([
    wellFormed(row.eventId),
    wellFormed(row.destination),
    wellFormed(row.eventType),
    wellFormed(row.aggregateType),
    wellFormed(row.aggregateId),
    wellFormed(row.tenantId),
    wellFormed(row.orderingKey),
    row.partitionNo,
    wellFormed(row.contentType),
    wellFormed(row.headers),
    row.occurredAt,
    isText,
  ])
  const payload = isText ? row.payload : Buffer.from(row.payload).toString('base64')
  return `${line}\n${payload}`
}

// We replace half surrogate pairs as UTF-8 would, because Lua's JSON refuses them.
function wellFormed(text: string | null): string | null {
  return text === null ? null : text.toWellFormed()
}

/** How many values `claimedRows` takes for each row. */
const valuesPerRow = 8

/**
 * Makes rows from a script's result. Each row has name, attempts, deliveries, losses, due time, time of the
 * write, holder and text.
 */
export function claimedRows(values: readonly unknown[]): Row[] {
  const rows: Row[] = []
  for (let index = 0; index < values.length; index += valuesPerRow) {
    const event = eventRow(values[index] as string, values[index + 7] as string | null)
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

/** Makes a row for operators from its name, its state and its text. */
export function storedRow([member, state, text]: readonly [string, StateValues, string | null]): StoredRow {
  const [status, attempts, deliveries, losses, availableAt, createdAt, lockedBy] = state
  const [, , , , , , , lockedUntil, doneAt, blockedAt, lastError] = state
  return {
    seq: Number(member),
    ...eventRow(member, text),
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

type Line = readonly [
  eventId: string,
  destination: string,
  eventType: string,
  aggregateType: string,
  aggregateId: string | null,
  tenantId: string | null,
  orderingKey: string | null,
  partitionNo: number | null,
  contentType: string | null,
  headers: string | null,
  occurredAt: number,
  isText: boolean,
]

function eventRow(member: string, text: string | null): EventRow {
  const end = text?.indexOf('\n') ?? -1
  const line = end < 0 ? undefined : lineOf(text!.slice(0, end))
  if (line === undefined) return unreadable(member)

  const payload = text!.slice(end + 1)
  return {
    eventId: line[0],
    destination: line[1],
    eventType: line[2],
    aggregateType: line[3],
    aggregateId: line[4],
    tenantId: line[5],
    orderingKey: line[6],
    partitionNo: line[7],
    payload: line[11] ? payload : new Uint8Array(Buffer.from(payload, 'base64')),
    contentType: line[8],
    headers: line[9],
    occurredAt: line[10],
  }
}

function lineOf(json: string): Line | undefined {
  try {
    const line = JSON.parse(json) as Partial<Line> | null
    const isLine = typeof line?.[0] === 'string' && typeof line[2] === 'string' && typeof line[3] === 'string'
    return isLine ? (line as Line) : undefined
  } catch {
    return undefined
  }
}

/**
 * The row for a text that was changed by hand and says nothing about its event. Scripts use the same id for
 * it.
 */
function unreadable(member: string): EventRow {
  return {
    eventId: `row-${member}`,
    destination: '',
    eventType: '',
    aggregateType: '',
    aggregateId: null,
    tenantId: null,
    orderingKey: null,
    partitionNo: null,
    payload: null as never,
    contentType: null,
    headers: null,
    occurredAt: Number.NaN,
  }
}
