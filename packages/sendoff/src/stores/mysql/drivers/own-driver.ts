import { OutboxError } from '../../../errors.ts'
import { insideTransaction, refuseInsideTransaction } from '../../inside-transaction.ts'
import { isConflict } from '../mysql-errors.ts'
import type { MysqlDriver } from './mysql-driver.ts'

/** How often work is tried that the server undoes because of a conflict. */
const attempts = 5

/** A driver that the store can close. */
export interface OwnDriver<Tx extends object> extends MysqlDriver<Tx> {
  /** Refuses everything from now on. */
  close(): void
}

/**
 * A driver for the statements and transactions of the engine itself.
 *
 * What the server undid because of a conflict (a deadlock, or a lock that was waited for too long) is tried
 * again: nothing of it has happened. The engine repeats all else. On a client with one connection, a call
 * that would wait for the transaction it is made in is refused.
 */
export function ownDriver<Tx extends object>(driver: MysqlDriver<Tx>): OwnDriver<Tx> {
  const { onlyConnection } = driver
  let isClosed = false

  return {
    ...driver,

    run: (text, values) => insisting(() => driver.run(text, values)),

    briefly: (work) => insisting(() => driver.briefly(work)),

    async connected(work) {
      assertUsable()
      return driver.connected(work)
    },

    async transaction(work, options) {
      assertUsable()
      return onlyConnection === undefined
        ? driver.transaction(work, options)
        : driver.transaction((tx) => insideTransaction(onlyConnection, () => work(tx)), options)
    },

    close() {
      isClosed = true
    },
  }

  async function insisting<Result>(work: () => Promise<Result>): Promise<Result> {
    assertUsable()
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (attempt === attempts || !isConflict(error)) throw error
      }
    }
  }

  function assertUsable(): void {
    if (isClosed) {
      throw new OutboxError('OUTBOX_CLOSED', 'The MySQL store is closed. Make a new one with mysqlStore().')
    }
    if (onlyConnection !== undefined) refuseInsideTransaction(onlyConnection)
  }
}
