import type { OutboxStore } from '../store/index.ts'
import type { TxContext } from './tx-context.ts'

/** The context of a transaction that other code opened. The outbox does not see its end. */
export function foreignTransaction<StoreTx>(store: OutboxStore<StoreTx>, tx: StoreTx): TxContext<StoreTx> {
  return {
    observable: false,
    isTransactionActive: () => store.inTransaction(tx),
    currentTransaction: () => tx,
    afterCommit() {},
    afterRollback() {},
  }
}
