import { OutboxError } from '../../../errors.ts'
import { insideTransaction, refuseInsideTransaction } from '../../inside-transaction.ts'
import { isConflict } from '../mysql-errors.ts'
import { serverOf } from '../server-version.ts'
import { textOf } from '../sql/row-columns.ts'
import { mostCharactersFor } from '../sql/statement-size.ts'
import type { CallersSession, LockingDriver, MysqlDriver, MysqlSession } from './mysql-driver.ts'

/** How many times to try work that the server undoes because of a conflict. */
const attempts = 5

/** A driver that the store can close. */
export interface OwnDriver<Tx extends object> extends MysqlDriver<Tx>, LockingDriver {
  /** Makes the driver refuse every later call. */
  close(): void
}

/**
 * A driver for the statements and transactions of the engine itself.
 *
 * If the server undid work because of a conflict (a deadlock, or too long a wait for a lock), the driver
 * tries it again. None of the work has happened. The engine repeats everything else. On a client with one
 * connection, the driver refuses a call that would wait for the transaction it is made in. Without
 * `skipLocked`, the version of the server decides whether statements skip locked rows.
 */
export function ownDriver<Tx extends object>(
  driver: MysqlDriver<Tx>,
  skipLocked: boolean | undefined,
): OwnDriver<Tx> {
  const { onlyConnection } = driver
  let isClosed = false
  let known: { readonly skipsLocked: boolean; readonly mostCharacters: number } | undefined

  const run: MysqlSession['run'] = (text, values) => insisting(() => driver.run(text, values))

  return {
    ...driver,

    skipsLocked: async (session) => skipLocked ?? (await server(session)).skipsLocked,

    mostCharacters: async (session) => (await server(session)).mostCharacters,

    run,

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

  async function server(session: CallersSession = { run }): Promise<NonNullable<typeof known>> {
    if (known === undefined) {
      const { rows } = await session.run('select version(), @@max_allowed_packet')
      const [version, packetBytes] = rows[0]!
      const { skipsLocked } = serverOf(textOf(version)!)
      known = { skipsLocked, mostCharacters: mostCharactersFor(Number(packetBytes)) }
    }
    return known
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
