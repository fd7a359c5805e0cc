import { EventEnvelope } from '../event/event-envelope.ts'
import type { JsonCodec } from '../event/json-codec.ts'
import { EventStatus } from '../store/event-status.ts'
import type { StoredRow } from '../store/index.ts'

/** A row of the table with its payload and headers parsed, and its status by name. */
export interface WrittenEvent<Payload = unknown> extends Omit<StoredRow, 'headers' | 'payload' | 'status'> {
  readonly status: keyof typeof EventStatus
  readonly payload: Payload
  readonly headers: Readonly<Record<string, string>>
}

/** Returns a row as a `WrittenEvent`. */
export function writtenEvent(row: StoredRow, codec: JsonCodec): WrittenEvent {
  const { payload, headers } = EventEnvelope.stored(row, codec)
  return { ...row, status: statusNames[row.status], payload, headers }
}

const statusNames = Object.fromEntries(
  Object.entries(EventStatus).map(([name, code]) => [code, name]),
) as Record<EventStatus, keyof typeof EventStatus>
