import { OutboxError } from '../errors.ts'

/** The error of a write outside any transaction. */
export function noTransaction(): OutboxError {
  return new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'An event is written together with the data it is about, in one transaction, and none is open here, or it has ended. ' +
      'Write it inside outbox.transaction(async (tx) => { … }), or hand over an open one, as the last argument: { tx }. A transaction of another outbox, such as a mail outbox, is not found by itself.',
  )
}

/** The error of a write in a transaction that has ended. */
export function transactionEnded(): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ENDED',
    'The transaction of this write has ended. Await every write before the callback of the transaction returns.',
  )
}
