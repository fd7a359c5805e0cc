import { type Method, RevocableView } from './revocable-view.ts'
import type { SqliteHandle, SqliteStatement } from './sqlite-client.ts'
import type { SqliteTransaction } from './sqlite-transaction.ts'
import type { StatementPool } from './statement-pool.ts'

const transactionOfView = Symbol('transaction')

/** The transaction that handed out `tx`, if any did. */
export function transactionOf(tx: SqliteHandle): SqliteTransaction | undefined {
  return (tx as { [transactionOfView]?: SqliteTransaction })[transactionOfView]
}

/**
 * A handle as the code of one transaction may use it: it ends with the transaction. A statement that
 * was not awaited and comes late would otherwise run in whichever transaction is open by then.
 *
 * Statements that were prepared through it are kept for later transactions, since preparing one
 * takes longer than running it.
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

  /** Whether code may have set a savepoint by hand: what it writes then may be undone unseen. */
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

  /** Puts the statements back that are as good as new. */
  end(): void {
    for (const { sql, statement, isUnchanged } of this.#borrowed) {
      if (isUnchanged) this.#pool.giveBack(sql, statement)
    }
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
    this.#watch(sql)
    if (typeof sql !== 'string' || parameters.length > 1) {
      return new RevocableView(prepare.apply(handle, parameters) as object, this.owner).view
    }

    const statement = this.#pool.take(sql) ?? handle.prepare(sql)
    const view = new StatementView(sql, statement, this.#transaction)
    this.#borrowed.push(view)
    return view.view
  }

  #watch(sql: unknown): void {
    if (typeof sql !== 'string') return
    if (/\bsavepoint\b/i.test(sql)) this.#mayHaveSavepoints = true
    if (/\brollback\b/i.test(sql)) this.#mayHaveRolledBack = true
  }
}

class StatementView extends RevocableView<SqliteStatement> {
  readonly sql: string
  readonly statement: SqliteStatement
  isUnchanged = true

  constructor(sql: string, statement: SqliteStatement, owner: SqliteTransaction) {
    super(statement, owner)
    this.sql = sql
    this.statement = statement
  }

  // Anything else may leave a setting or an open cursor behind.
  protected override methodView(target: SqliteStatement, property: PropertyKey, method: Method): Method {
    if (property !== 'run' && property !== 'get' && property !== 'all') this.isUnchanged = false
    return super.methodView(target, property, method)
  }
}
