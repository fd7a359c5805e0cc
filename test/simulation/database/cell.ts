import type { DatabaseTransaction } from './transaction.ts'

/**
 * The strength of a lock on a row, as PostgreSQL has them. A settlement takes `keyShare` on the lock of its
 * owner, and a renewal `noKeyUpdate`; these two go together. A takeover takes `update`, which excludes both.
 */
export type LockMode = 'keyShare' | 'noKeyUpdate' | 'update'

/**
 * A place for one row: its committed value, and the transactions that have locked it. Values are never changed in
 * place, so a statement that keeps one sees the row as it was.
 */
export class Cell<Value> {
  committed: Value | undefined
  readonly lockers = new Map<DatabaseTransaction, LockMode>()
  /** Called, each once, when a lock ends. */
  readonly waiters = new Set<() => void>()

  constructor(committed?: Value) {
    this.committed = committed
  }

  /** Locks the row, unless another transaction excludes that. */
  tryLock(tx: DatabaseTransaction, mode: LockMode): boolean {
    for (const [other, held] of this.lockers) if (other !== tx && excludes(held, mode)) return false
    const held = this.lockers.get(tx)
    if (held === undefined || strength[held] < strength[mode]) this.lockers.set(tx, mode)
    tx.locked.add(this)
    return true
  }

  unlock(tx: DatabaseTransaction): void {
    this.lockers.delete(tx)
    const waiters = [...this.waiters]
    this.waiters.clear()
    waiters.forEach((wake) => wake())
  }
}

const strength: Readonly<Record<LockMode, number>> = { keyShare: 0, noKeyUpdate: 1, update: 2 }

function excludes(held: LockMode, wanted: LockMode): boolean {
  return strength[held] + strength[wanted] >= 2
}
