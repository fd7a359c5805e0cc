import type { SqliteHandle, SqliteStatement } from './sqlite-client.ts'

const maxStatements = 100

export interface PooledStatement {
  readonly sql: string
  readonly statement: SqliteStatement
  readonly effects: Effects
  isTaken: boolean
}

/** What a statement may do to the transaction that it runs in. */
export interface Effects {
  readonly setsSavepoint: boolean
  readonly rollsBack: boolean
}

/**
 * The statements that callers have prepared on one handle: preparing one takes longer than running it. Each
 * has one user at a time, since its settings and its open cursor are its own.
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

  /** A statement that has changed is not handed out again. */
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
