import { invalidOption } from '../../options.ts'
import { endingView } from '../sql/ending-view.ts'
import { endedByHand, SqlTransaction, transactionAround, transactionOf } from '../sql/sql-transaction.ts'
import { foreignSession } from './foreign-session.ts'
import { onlyConnectionOf } from '../sql/only-connection.ts'
import { listenByPg } from './pg-listener.ts'
import type { PgClient, PgPool, PgQuery } from './postgres-client.ts'
import type { DriverOptions, PostgresDriver, PostgresSession, Statement, Value } from './postgres-driver.ts'
import { commitFailure, rolledBack } from './postgres-errors.ts'
import { withinSavepoint } from './savepoint.ts'

type Rows = readonly (readonly Value[])[]

// Answers as the server sends them, whatever parsers the pool's user has set.
const types = { getTypeParser: () => (value: string) => value }
const ignore = () => {}
const guarded = new WeakSet<PgPool>()

/** PostgreSQL through a pool of `pg`. */
export function pgDriver(pool: PgPool, { prepare }: DriverOptions): PostgresDriver<PgClient> {
  guardPool(pool)

  const parts = {
    savepoint: <Result>(client: PgClient, name: string, work: (client: PgClient) => Promise<Result>) =>
      withinSavepoint(sessionOn(client), name, () => work(client)),

    // Code that was written for a client of its own releases it at its end. Here that is not its task.
    view: (client: PgClient, assertOpen: () => void) => endingView(client, assertOpen, { release: ignore }),
  }

  return {
    durable: true,
    multiProcess: true,
    onlyConnection: maxOf(pool) === 1 ? onlyConnectionOf(pool) : undefined,

    run: async (statement, values) => (await pool.query(queryOf(statement, values))).rows as unknown as Rows,

    async transaction(work, isolation) {
      const client = await pool.connect()
      // While a client is in use nobody else listens, and a lost connection would end the process.
      client.on('error', ignore)
      let isBroken = true
      try {
        // Plain texts: pg copies the description of every other query, which takes it 5 µs.
        await client.query(isolation === undefined ? 'begin' : `begin isolation level ${isolation}`)
        isBroken = false
        const result = await watched(client, () => new SqlTransaction(client, parts).run(work))
        await commit(client)
        return result
      } catch (error) {
        isBroken ||= await isBeyondRollback(client)
        throw error
      } finally {
        client.removeListener('error', ignore)
        client.release(isBroken)
      }
    },

    nested: (tx, work) => transactionAround(tx, parts).nested(work),

    session(tx) {
      const known = transactionOf(tx)
      known?.assertOpen()
      const client = known?.handle ?? tx
      return isPgClient(client) ? sessionOn(client) : foreignSession(client)
    },

    inTransaction(tx) {
      if (isPool(tx)) return false
      const known = transactionOf(tx)
      if (known !== undefined && !known.isOpen) return false

      // A client that was told to begin, but has not been answered yet, is still called idle.
      const status = (known?.handle ?? tx).getTransactionStatus?.()
      return status === 'T' || status === 'E' ? true : undefined
    },

    listen: (channel, callback) => listenByPg(pool, channel, callback),
  }

  function sessionOn(client: PgClient): PostgresSession {
    return {
      run: async (statement, values) =>
        (await client.query(queryOf(statement, values))).rows as unknown as Rows,
    }
  }

  function queryOf({ name, text }: Statement, values: readonly Value[] = []): PgQuery {
    const query: PgQuery = { text, values: values as Value[], rowMode: 'array', types }
    return prepare && name !== undefined ? { ...query, name } : query
  }
}

/** Refuses what it cannot read, and sees to it that a lost idle connection does not end the process. */
function guardPool(pool: PgPool): void {
  const { binary } = (pool.options ?? {}) as { binary?: unknown }
  if (binary === true)
    throw invalidOption('postgresStore', 'client', pool, () => 'a pool without binary: true')
  if (guarded.has(pool)) return

  guarded.add(pool)
  // The pool has let go of the client by then, and makes a new one when it needs one.
  pool.on('error', ignore)
}

/**
 * Rejects where another transaction was begun on the client by hand meanwhile: the commit would be that of the other one,
 * whatever became of the first.
 */
async function watched<Result>(client: PgClient, work: () => Promise<Result>): Promise<Result> {
  let hasBegunAnother = false
  const listener = ({ text = '' }: { readonly text?: string }) => {
    if (/^(?:BEGIN|START|COMMIT)/.test(text)) hasBegunAnother = true
  }
  client.connection?.on?.('commandComplete', listener)
  try {
    const result = await work()
    if (hasBegunAnother) throw endedByHand()
    return result
  } finally {
    client.connection?.removeListener?.('commandComplete', listener)
  }
}

async function commit(client: PgClient): Promise<void> {
  if (client.getTransactionStatus?.() === 'I') throw endedByHand()

  const answer = await client.query('commit').catch((error: unknown) => {
    throw commitFailure(error)
  })
  // The server's own word: told to commit a transaction that has failed, it rolls back without an error.
  if (answer.command !== 'COMMIT') throw rolledBack()
}

/** Rolls back; true where the state of the client is unclear then, so that nobody should use it again. */
async function isBeyondRollback(client: PgClient): Promise<boolean> {
  if (client.getTransactionStatus?.() === 'I') return false
  try {
    await client.query('rollback')
    return false
  } catch {
    return true
  }
}

function isPgClient(tx: object): tx is PgClient {
  return 'processID' in tx && 'escapeLiteral' in tx
}

function maxOf(pool: PgPool): unknown {
  return (pool.options as { max?: unknown } | undefined)?.max
}

function isPool(tx: object): boolean {
  return 'totalCount' in tx && 'idleCount' in tx
}
