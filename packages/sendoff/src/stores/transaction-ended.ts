import { OutboxError } from '../errors.ts'

/** For whoever writes with the handle of a transaction that is over. */
export function transactionEnded(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    "This transaction has ended. Await everything before the transaction's callback returns.",
  )
}
