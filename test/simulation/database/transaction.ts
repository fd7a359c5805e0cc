import { type Cell, type LockMode } from './cell.ts'

/** A point at which a statement lets others run: `pause`, or a lock that it has to wait for. */
export type Step = 'pause' | LockWait

/** A wait for a row that another transaction has locked. */
export interface LockWait {
  readonly cell: Cell<any>
  readonly tx: DatabaseTransaction
}

/** A statement in steps. Between two steps, other statements may run. */
export type Program<Result> = Generator<Step, Result, void>

/**
 * A transaction: the rows that it has locked and changed. Others see its changes after its commit. Each statement
 * of it sees what was committed when that statement began.
 */
export class DatabaseTransaction {
  readonly name: string
  readonly locked = new Set<Cell<any>>()
  readonly #writes = new Map<Cell<any>, unknown>()
  readonly #onCommit: (() => void)[] = []
  /** The row that it waits for. */
  waitsFor: Cell<any> | undefined
  state: 'open' | 'committed' | 'rolledBack' = 'open'

  constructor(name: string) {
    this.name = name
  }

  /** Returns the row as this transaction sees it now. */
  read<Value>(cell: Cell<Value>): Value | undefined {
    return this.#writes.has(cell) ? (this.#writes.get(cell) as Value | undefined) : cell.committed
  }

  /** Changes a row, or deletes it with undefined. The transaction has to have locked it. */
  write<Value>(cell: Cell<Value>, value: Value | undefined): void {
    this.#writes.set(cell, value)
  }

  /** Locks a row. Waits while another transaction excludes it. */
  *lock(cell: Cell<any>, mode: LockMode = 'update'): Program<void> {
    while (!cell.tryLock(this, mode)) yield { cell, tx: this }
  }

  /** Whether it has changed a row. */
  get hasWritten(): boolean {
    return this.#writes.size > 0
  }

  onCommit(callback: () => void): void {
    this.#onCommit.push(callback)
  }

  /** Returns a mark to which `undoTo` goes back. */
  savepoint(): ReadonlyMap<Cell<any>, unknown> {
    return new Map(this.#writes)
  }

  /** Undoes the changes since a savepoint. Locks stay. */
  undoTo(savepoint: ReadonlyMap<Cell<any>, unknown>): void {
    this.#writes.clear()
    for (const [cell, value] of savepoint) this.#writes.set(cell, value)
  }

  commit(): void {
    if (this.state !== 'open') throw new Error(`${this.name} has ended.`)
    this.state = 'committed'
    for (const [cell, value] of this.#writes) cell.committed = value
    this.#onCommit.forEach((callback) => callback())
    this.#unlock()
  }

  rollback(): void {
    if (this.state !== 'open') return
    this.state = 'rolledBack'
    this.#unlock()
  }

  /** Whether this transaction waits, directly or through others, for one that waits for it. */
  get isInCircle(): boolean {
    const seen = new Set<DatabaseTransaction>()
    const visit = (tx: DatabaseTransaction): boolean => {
      for (const holder of tx.waitsFor?.lockers.keys() ?? []) {
        if (holder === tx || seen.has(holder)) continue
        if (holder === this) return true
        seen.add(holder)
        if (visit(holder)) return true
      }
      return false
    }
    return visit(this)
  }

  #unlock(): void {
    for (const cell of this.locked) cell.unlock(this)
    this.locked.clear()
  }
}
