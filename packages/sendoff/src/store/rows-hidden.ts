import { OutboxError } from '../errors.ts'
import type { Finding } from './findings.ts'

/** Makes the error of a finding `ROWS_HIDDEN`. Its message has the statements that help. */
export function rowsHidden({ message, fix, sql }: Finding): OutboxError {
  const statements = sql === undefined ? '' : ` As SQL: ${sql}`
  return new OutboxError('OUTBOX_ROWS_HIDDEN', `${message} ${fix}${statements}`)
}
