import { OutboxError } from '../errors.ts'

/** The error of a write outside any transaction. */
export function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'An event is written in the transaction of the data it is about, but no transaction is open here, or it has ended. ' +
      'Write the event inside outbox.transaction(async (tx) => { … }), or pass an open transaction as the last argument: { tx }. The outbox does not find a transaction of another outbox, such as a mail outbox, by itself.',
  )
}

/** The error of a write in a transaction that has ended. */
export function transactionEnded(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction of this write has ended. Await every write before the callback of the transaction returns.',
  )
}
