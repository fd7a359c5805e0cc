import { type Method, RevocableView } from './revocable-view.ts'
import type { SqliteHandle, SqliteStatement } from './sqlite-client.ts'
import type { SqliteTransaction } from './sqlite-transaction.ts'
import { type Effects, effectsOf, type PooledStatement, type StatementPool } from './statement-pool.ts'

const transactionOfView = Symbol('transaction')

/** Returns the transaction that handed out `tx`, if one did. */
export function transactionOf(tx: SqliteHandle): SqliteTransaction | undefined {
  return (tx as { [transactionOfView]?: SqliteTransaction })[transactionOfView]
}

/**
 * A handle as the code of one transaction may use it: it ends with the transaction. Otherwise a statement
 * that was not awaited would run late, in the transaction that is open by then.
 *
 * It keeps prepared statements for later transactions, since preparing one takes longer than running it.
 */
export class TransactionView<Handle extends SqliteHandle> extends RevocableView<Handle> {
  readonly #transaction: SqliteTransaction
  readonly #pool: StatementPool
  readonly #borrowed: StatementView[] = []
  #mayHaveSavepoints = false
  #mayHaveRolledBack = false

  constructor(handle: Handle, transaction: SqliteTransaction, pool: StatementPool) {
    super(handle, transaction)
    this.#transaction = transaction
    this.#pool = pool
  }

  /**
   * Whether code may have set a savepoint by hand. The code may then undo its writes without the store
   * noticing.
   */
  get mayHaveSavepoints(): boolean {
    return this.#mayHaveSavepoints
  }

  /** Whether code may have undone the transaction by hand, and begun another. */
  get mayHaveRolledBack(): boolean {
    return this.#mayHaveRolledBack
  }

  override get(target: Handle, property: PropertyKey): unknown {
    return property === transactionOfView ? this.#transaction : super.get(target, property)
  }

  /** Returns the prepared statements to the pool. */
  end(): void {
    for (const { pooled, isUnchanged } of this.#borrowed) this.#pool.giveBack(pooled, isUnchanged)
  }

  protected override methodView(target: Handle, property: PropertyKey, method: Method): Method {
    if (property === 'prepare') return (...parameters) => this.#prepare(target, method, parameters)
    if (property !== 'exec') this.#mayHaveSavepoints = this.#mayHaveRolledBack = true

    const call = super.methodView(target, property, method)
    return (...parameters) => {
      this.#watch(parameters[0])
      return call(...parameters)
    }
  }

  #prepare(handle: Handle, prepare: Method, parameters: unknown[]): unknown {
    this.#transaction.assertOpen()
    const [sql] = parameters
    if (typeof sql !== 'string' || parameters.length > 1) {
      this.#watch(sql)
      return new RevocableView(prepare.apply(handle, parameters) as object, this.owner).view
    }

    const pooled = this.#pool.take(sql)
    this.#remember(pooled.effects)
    const view = new StatementView(pooled, this.#transaction)
    this.#borrowed.push(view)
    return view.view
  }

  #watch(sql: unknown): void {
    if (typeof sql === 'string') this.#remember(effectsOf(sql))
  }

  #remember({ setsSavepoint, rollsBack }: Effects): void {
    if (setsSavepoint) this.#mayHaveSavepoints = true
    if (rollsBack) this.#mayHaveRolledBack = true
  }
}

class StatementView extends RevocableView<SqliteStatement> {
  readonly pooled: PooledStatement
  isUnchanged = true

  constructor(pooled: PooledStatement, owner: SqliteTransaction) {
    super(pooled.statement, owner)
    this.pooled = pooled
  }

  protected override methodView(target: SqliteStatement, property: PropertyKey, method: Method): Method {
    if (property === 'run' || property === 'get' || property === 'all') {
      return this.plainMethodView(target, method)
    }
    // Any other method may leave a setting or an open cursor behind.
    this.isUnchanged = false
    return super.methodView(target, property, method)
  }
}
