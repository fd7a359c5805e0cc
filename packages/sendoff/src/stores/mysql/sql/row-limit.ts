import { OutboxError } from '../../../errors.ts'
import { kindOf } from '../../../options.ts'

/** Returns a number of rows that is safe in the text of a statement: a whole number of at least 0. */
export function rowLimit(limit: number): number {
  if (Number.isSafeInteger(limit)) return Math.max(0, limit)
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `A limit of rows must be a whole number, not ${kindOf(limit)}.`,
  )
}
