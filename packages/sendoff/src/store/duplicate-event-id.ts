import { OutboxError } from '../errors.ts'
import type { RowId } from './rows.ts'

/** The error of an insert whose event id exists already. */
export function duplicateEventId({ eventId, destination }: RowId, options?: ErrorOptions): OutboxError {
  const where = destination === '' ? '' : ` for destination "${destination}"`
  return new OutboxError(
    'OUTBOX_DUPLICATE_EVENT_ID',
    `An event with the id ${eventId} was written before${where}. ` +
      'Give every event an id of its own, or use an idempotency key to write an event once.',
    options,
  )
}
