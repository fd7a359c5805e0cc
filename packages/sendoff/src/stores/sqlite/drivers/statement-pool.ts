import type { SqliteHandle, SqliteStatement } from './sqlite-client.ts'

const maxStatements = 100

export interface PooledStatement {
  readonly sql: string
  readonly statement: SqliteStatement
  readonly effects: Effects
  isTaken: boolean
}

/** The effects that a statement may have on the transaction that it runs in. */
export interface Effects {
  readonly setsSavepoint: boolean
  readonly rollsBack: boolean
}

/**
 * The statements that callers have prepared on one handle: preparing one takes longer than running it. Each
 * has one user at a time, because a statement has only one open cursor and one set of settings.
 */
export class StatementPool {
  readonly #handle: SqliteHandle
  readonly #statements = new Map<string, PooledStatement>()

  constructor(handle: SqliteHandle) {
    this.#handle = handle
  }

  take(sql: string): PooledStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined && !known.isTaken) {
      known.isTaken = true
      return known
    }

    const statement = { sql, statement: this.#handle.prepare(sql), effects: effectsOf(sql), isTaken: true }
    if (known === undefined) this.#keep(statement)
    return statement
  }

  /** Takes a statement back. If it was left changed, it is not handed out again. */
  giveBack(pooled: PooledStatement, isUnchanged: boolean): void {
    if (isUnchanged) pooled.isTaken = false
    else if (this.#statements.get(pooled.sql) === pooled) this.#statements.delete(pooled.sql)
  }

  #keep(statement: PooledStatement): void {
    if (this.#statements.size === maxStatements) {
      const [oldest] = this.#statements.keys()
      this.#statements.delete(oldest!)
    }
    this.#statements.set(statement.sql, statement)
  }
}

export function effectsOf(sql: string): Effects {
  return { setsSavepoint: /\bsavepoint\b/i.test(sql), rollsBack: /\brollback\b/i.test(sql) }
}
