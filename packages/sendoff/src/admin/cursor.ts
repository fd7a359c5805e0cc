import { OutboxError } from '../errors.ts'
import type { ScanPlace } from '../store/index.ts'
import { checksumOf } from './checksum.ts'

/** Writes a place as an opaque text. It is only good for the same `scope`: table, filter and order. */
export function cursorOf(scope: unknown, { eventId, destination, seq }: ScanPlace): string {
  const place = [eventId, destination, seq]
  return Buffer.from(JSON.stringify([checksumOf([scope, place]), ...place])).toString('base64url')
}

/** Reads a cursor. Throws `OUTBOX_INVALID_CURSOR` if it was altered, or made for another `scope`. */
export function placeOfCursor(scope: unknown, cursor: unknown): ScanPlace {
  const [checksum, eventId, destination, seq] = readList(cursor)
  const isPlace = typeof eventId === 'string' && typeof destination === 'string' && typeof seq === 'number'
  if (isPlace && checksum === checksumOf([scope, [eventId, destination, seq]])) {
    return { eventId, destination, seq }
  }
  throw new OutboxError(
    'OUTBOX_INVALID_CURSOR',
    'This cursor was altered, or belongs to another table, filter or order. ' +
      'Pass a cursor only to the call that returned it, with the same filter and order, or begin without one.',
  )
}

function readList(cursor: unknown): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(Buffer.from(cursor as string, 'base64url').toString())
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}
