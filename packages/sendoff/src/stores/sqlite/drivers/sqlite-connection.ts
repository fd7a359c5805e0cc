import { setTimeout as delay } from 'node:timers/promises'
import { OutboxError } from '../../../errors.ts'
import { inside, refuseInsideTransaction } from '../../inside-transaction.ts'
import type { Mutex } from '../../mutex.ts'
import { databaseMutex } from './database-mutex.ts'
import { LoopTurns } from './loop-turns.ts'
import type { SqliteHandle } from './sqlite-client.ts'
import { isBusy } from '../sqlite-errors.ts'
import { hasOpenTransaction, isClosed } from './sqlite-client.ts'
import type { SqliteTransaction } from './sqlite-transaction.ts'

/** How the handle is opened and set up. */
export interface SqliteConnectionOptions<Handle> {
  readonly open: () => Handle
  readonly synchronous: 'FULL' | 'NORMAL'
  readonly busyTimeoutMs: number
}

/**
 * The one handle of a store, opened at its first use.
 *
 * A call that uses the handle holds the mutex of the database file, so that no statement becomes part of
 * another call's transaction. If another process holds a lock, the call tries again, and keeps the mutex
 * meanwhile. SQLite's own waiting would block the event loop.
 */
export class SqliteConnection<Handle extends SqliteHandle> {
  readonly #options: SqliteConnectionOptions<Handle>
  readonly #turns = new LoopTurns()
  #handle: Handle | undefined
  #mutex: Mutex | undefined
  #isSetUp = false
  #closing: Promise<void> | undefined

  constructor(options: SqliteConnectionOptions<Handle>) {
    this.#options = options
  }

  /** Runs `work` while nothing else in this process uses the database through a store. */
  async alone<Result>(work: (handle: Handle) => Result | Promise<Result>): Promise<Result> {
    const handle = await this.enter()
    try {
      return await work(handle)
    } finally {
      this.leave()
    }
  }

  /**
   * Waits until nothing else in this process uses the database through a store, and keeps others out until
   * `leave`.
   */
  async enter(): Promise<Handle> {
    if (this.#closing !== undefined) throw closed()
    this.#mutex ??= databaseMutex((this.#handle ??= this.#options.open()))
    refuseInsideTransaction(this.#mutex)

    const turn = this.#mutex.lock()
    if (turn !== undefined) await turn
    try {
      if (this.#turns.isOverdue) await this.#turns.next()
      if (!this.#isSetUp) await this.#setUp()
      return this.#handle!
    } catch (error) {
      this.leave()
      throw error
    }
  }

  leave(): void {
    this.#mutex!.unlock()
  }

  /** Runs the code of a transaction, between `enter` and `leave`. */
  asTransaction<Result>(
    transaction: SqliteTransaction<Handle>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    return inside(transaction, this.#mutex!, work)
  }

  /** Runs `work`, and again from its start while another process holds a lock. */
  retrying<Result>(work: () => Result): Result | Promise<Result> {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#retry(work, error)
    }
  }

  /** Undoes an open transaction. If the handle cannot be cleaned, the next use replaces it. */
  rollBack(handle: Handle): void {
    try {
      if (isClosed(handle)) this.#replaceHandle(handle)
      else if (hasOpenTransaction(handle)) handle.exec('rollback')
    } catch {
      this.#replaceHandle(handle)
    }
  }

  /** Closes the handle after all earlier requests. */
  close(): Promise<void> {
    this.#closing ??= Promise.resolve(
      this.#mutex?.run(() => {
        this.#handle?.close()
        this.#handle = undefined
      }),
    )
    return this.#closing
  }

  async #retry<Result>(work: () => Result, failure: unknown): Promise<Result> {
    const { busyTimeoutMs } = this.#options
    const giveUpAt = performance.now() + busyTimeoutMs

    for (let longestMs = 2; ; longestMs = Math.min(20, longestMs * 2)) {
      if (performance.now() >= giveUpAt) throw storeBusy(busyTimeoutMs, failure)
      // The wait is random, so that processes that collided do not collide again.
      await delay(1 + Math.random() * (longestMs - 1))
      try {
        return work()
      } catch (error) {
        if (!isBusy(error)) throw error
        failure = error
      }
    }
  }

  async #setUp(): Promise<void> {
    const handle = (this.#handle ??= this.#options.open())
    await this.retrying(() => {
      handle.exec('pragma busy_timeout = 0')
      handle.exec('pragma journal_mode = wal')
      handle.exec(`pragma synchronous = ${this.#options.synchronous}`)
    })
    this.#isSetUp = true
  }

  #replaceHandle(handle: Handle): void {
    this.#handle = undefined
    this.#isSetUp = false
    try {
      handle.close()
    } catch {
      // The caller closed the handle, or an iterator that was never finished uses it. It is useless either
      // way.
    }
  }
}

function closed(): OutboxError {
  return new OutboxError('OUTBOX_CLOSED', 'The SQLite store is closed. Make a new one with sqliteStore().')
}

function storeBusy(busyTimeoutMs: number, cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_STORE_BUSY',
    `Another process kept the SQLite database locked for more than ${busyTimeoutMs} ms. ` +
      'Keep transactions short, or raise the option busyTimeoutMs of sqliteStore.',
    { cause },
  )
}
