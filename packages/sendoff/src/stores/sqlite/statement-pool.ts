import type { SqliteStatement } from './sqlite-client.ts'

const maxStatements = 100

/** Prepared statements of one handle that nobody uses at the moment, the latest used last. */
export class StatementPool {
  readonly #statements = new Map<string, SqliteStatement>()

  take(sql: string): SqliteStatement | undefined {
    const statement = this.#statements.get(sql)
    if (statement !== undefined) this.#statements.delete(sql)
    return statement
  }

  giveBack(sql: string, statement: SqliteStatement): void {
    this.#statements.set(sql, statement)
    if (this.#statements.size <= maxStatements) return

    const [oldest] = this.#statements.keys()
    this.#statements.delete(oldest!)
  }
}
