import { type PreparedStatements, prepareStatements } from '../sql/statements.ts'
import type { SqliteTables } from '../schema/sqlite-tables.ts'
import type { SqliteHandle, SqliteStatement } from './sqlite-client.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { StatementPool } from './statement-pool.ts'

/**
 * The work of one call on a handle. `now` is a time of the store's clock. It runs again from its start if
 * another process holds a lock.
 */
export type Step<Result> = (statements: PreparedStatements, now: number) => Result

/** The parts that all sessions of a store share. */
export interface SessionParts {
  readonly connection: SqliteConnection<SqliteHandle>
  readonly tables: SqliteTables
  readonly now: () => number
}

/** One handle, with the statements that were prepared on it: those of the store, and those of its users. */
export class SqliteSession {
  readonly handle: SqliteHandle
  readonly statements: PreparedStatements
  readonly pool: StatementPool
  readonly #connection: SqliteConnection<SqliteHandle>
  readonly #now: () => number

  constructor(handle: SqliteHandle, { connection, tables, now }: SessionParts) {
    this.handle = handle
    this.statements = prepareStatements(handle, tables)
    this.pool = new StatementPool(handle)
    this.#connection = connection
    this.#now = now
  }

  /** Runs a step that reads with one statement. */
  read<Result>(step: Step<Result>): Result | Promise<Result> {
    return this.#connection.retrying(() => step(this.statements, this.#now()))
  }

  /** Runs a step that reads a consistent state. */
  snapshot<Result>(step: Step<Result>): Result | Promise<Result> {
    return this.#together(this.statements.beginRead, step)
  }

  /** Runs a step that keeps other writers out: all of its writes are kept, or none. */
  write<Result>(step: Step<Result>): Result | Promise<Result> {
    return this.#together(this.statements.begin, step)
  }

  #together<Result>(begin: SqliteStatement, step: Step<Result>): Result | Promise<Result> {
    return this.#connection.retrying(() => {
      begin.run()
      try {
        const result = step(this.statements, this.#now())
        this.statements.commit.run()
        return result
      } catch (error) {
        this.#connection.rollBack(this.handle)
        throw error
      }
    })
  }
}
