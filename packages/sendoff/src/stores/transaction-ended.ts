import { OutboxError } from '../errors.ts'

/** The error for a write with the handle of a transaction that has ended. */
export function transactionEnded(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    "This transaction has ended. Await everything before the transaction's callback returns.",
  )
}
