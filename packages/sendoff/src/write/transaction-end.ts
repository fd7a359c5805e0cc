import { OutboxError, type OutboxErrorCode } from '../errors.ts'
import type { OutboxStore } from '../store/index.ts'
import type { Transactions } from '../transactions.ts'

/**
 * `undone`: nothing was kept. `over`: the transaction has ended, one way or the other. `open`: its commit may
 * still be under way.
 */
export type TransactionEnd = 'undone' | 'over' | 'open'

/** Any other code means that the store has answered, so that no commit is under way. */
const endsByCode: { readonly [Code in OutboxErrorCode]?: TransactionEnd } = {
  OUTBOX_COMMIT_UNKNOWN: 'open',
  OUTBOX_ROLLED_BACK: 'undone',
  OUTBOX_STORE_BUSY: 'undone',
}

/** Returns how a transaction ended, from the error of its commit. */
export function transactionEndOf<UserTx, StoreTx>(
  error: unknown,
  transactions: Pick<Transactions<UserTx, StoreTx, never>, 'databaseError'>,
  store: Pick<OutboxStore<StoreTx>, 'refusedCommit'>,
): TransactionEnd {
  if (error instanceof OutboxError) return endsByCode[error.code] ?? 'over'
  const cause = transactions.databaseError?.(error) ?? error
  return store.refusedCommit?.(cause) ? 'undone' : 'open'
}
