import type { RowId } from '../../../store/index.ts'
import type { SqliteTables } from '../schema/sqlite-tables.ts'
import type { SqliteHandle } from './sqlite-client.ts'
import { hasOpenTransaction } from './sqlite-client.ts'
import { SqliteConnection, type SqliteConnectionOptions } from './sqlite-connection.ts'
import { type SessionParts, SqliteSession, type Step } from './sqlite-session.ts'
import { endedByHand, SqliteTransaction } from './sqlite-transaction.ts'
import { transactionOf } from './transaction-view.ts'

/** How the handle is opened, and what the sessions on it need. */
export interface OwnDriverOptions<Handle> extends SqliteConnectionOptions<Handle> {
  readonly tables: SqliteTables
  readonly now: () => number
}

/** Runs the engine's own steps, and the transactions of writers, on the one handle of a store. */
export class OwnDriver<Handle extends SqliteHandle = SqliteHandle> {
  readonly now: () => number
  readonly #connection: SqliteConnection<Handle>
  readonly #parts: SessionParts
  readonly #sessions = new WeakMap<SqliteHandle, SqliteSession>()
  readonly #foreignTransactions = new WeakMap<SqliteHandle, SqliteTransaction<Handle>>()

  constructor(options: OwnDriverOptions<Handle>) {
    const { tables, now } = options
    this.now = now
    this.#connection = new SqliteConnection(options)
    this.#parts = { connection: this.#connection, tables, now }
  }

  /** Runs several steps. Between them, nothing else in this process uses the database through a store. */
  alone<Result>(work: (session: SqliteSession) => Result | Promise<Result>): Promise<Result> {
    return this.#connection.alone((handle) => work(this.session(handle)))
  }

  /** Runs a step that reads with one statement. */
  read<Result>(step: Step<Result>): Promise<Result> {
    return this.#connection.alone((handle) => this.session(handle).read(step))
  }

  /** Runs a step that reads a consistent state. */
  snapshot<Result>(step: Step<Result>): Promise<Result> {
    return this.#connection.alone((handle) => this.session(handle).snapshot(step))
  }

  /** Runs a step that keeps other writers out: all of its writes are kept, or none. */
  write<Result>(step: Step<Result>): Promise<Result> {
    return this.#connection.alone((handle) => this.session(handle).write(step))
  }

  /** Runs the code of a writer in one transaction. */
  async transaction<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    const handle = await this.#connection.enter()
    try {
      const { pool, statements } = this.session(handle)
      const { begin, commit, exists } = statements
      await this.#connection.retrying(() => begin.run())

      const transaction = new SqliteTransaction(handle, pool)
      const isThere = (row: RowId) => exists.get(row.eventId, row.destination) !== undefined
      try {
        const result = await this.#connection.asTransaction(transaction, () => transaction.run(work))
        if (!hasOpenTransaction(handle) || transaction.wasReplaced(isThere)) throw endedByHand()
        await this.#connection.retrying(() => commit.run())
        return result
      } catch (error) {
        this.#connection.rollBack(handle)
        throw error
      }
    } finally {
      this.#connection.leave()
    }
  }

  /** Runs the code of a writer in a part of its transaction. */
  nested<Result>(tx: Handle, work: (tx: Handle) => Promise<Result>): Promise<Result> {
    return this.#transactionAround(tx).nested(work)
  }

  /** Whether `tx` is a handle, or a view of one, with an open transaction. */
  inTransaction(tx: SqliteHandle): boolean {
    const known = transactionOf(tx)
    return known === undefined ? hasOpenTransaction(tx) : known.isOpen && hasOpenTransaction(known.handle)
  }

  /** Returns the session on a handle. A writer may have opened the handle. */
  session(handle: SqliteHandle): SqliteSession {
    const known = this.#sessions.get(handle)
    if (known !== undefined) return known

    const session = new SqliteSession(handle, this.#parts)
    this.#sessions.set(handle, session)
    return session
  }

  /** Closes the handle after all earlier requests. */
  close(): Promise<void> {
    return this.#connection.close()
  }

  #transactionAround(tx: Handle): SqliteTransaction<Handle> {
    const known =
      (transactionOf(tx) as SqliteTransaction<Handle> | undefined) ?? this.#foreignTransactions.get(tx)
    if (known !== undefined) return known

    const foreign = new SqliteTransaction(tx)
    this.#foreignTransactions.set(tx, foreign)
    return foreign
  }
}
