import { invalidOption } from '../../../options.ts'
import type { ConnectionWait } from '../../connection-waits.ts'
import { endingView, type ViewOwner } from '../../sql/ending-view.ts'
import { endedByHand, SqlTransaction, transactionAround, transactionOf } from '../../sql/sql-transaction.ts'
import { foreignSession } from './foreign-session.ts'
import { onlyConnectionOf } from '../../sql/only-connection.ts'
import { PgConnections } from './pg-connections.ts'
import { PgListeners } from './pg-listener.ts'
import type { PgClient, PgPool, PgQuery, PgResult } from './postgres-client.ts'
import type { DriverOptions, PostgresDriver, PostgresSession, Statement, Value } from './postgres-driver.ts'
import { commitFailure, preparedFailure, rolledBack } from '../postgres-errors.ts'
import { withinSavepoint } from './savepoint.ts'

type Rows = readonly (readonly Value[])[]

// Returns values as the server sends them, whatever parsers the pool's user has set.
const types = { getTypeParser: () => (value: string) => value }
const backendProcess = { text: 'select pg_backend_pid()::text' }
const ignore = () => {}
// Code written for a client of its own releases the client at the end. Here the store does that.
const ignored = { release: ignore }
const guarded = new WeakSet<PgPool | PgClient>()

/** PostgreSQL through a pool of `pg`. */
export function pgDriver(pool: PgPool, { prepare = true }: DriverOptions): PostgresDriver<PgClient> {
  guardPool(pool)
  const connections = new PgConnections(pool)
  const listeners = new PgListeners(pool)
  const waits = new WeakMap<object, ConnectionWait>()
  const descriptions = new WeakMap<Statement, PgQuery>()

  const parts = {
    savepoint: <Result>(client: PgClient, name: string, work: (client: PgClient) => Promise<Result>) =>
      withinSavepoint(sessionOn(client), name, () => work(client)),

    view: (client: PgClient, owner: ViewOwner) => endingView(client, owner, ignored),
  }

  return {
    durable: true,
    multiProcess: true,
    onlyConnection: maxOf(pool) === 1 ? onlyConnectionOf(pool) : undefined,

    async run(statement, values) {
      try {
        return rowsOf(await connections.run(queryOf(statement), valuesOf(values)))
      } catch (error) {
        throw preparedFailure(error)
      }
    },

    async transaction(work, isolation) {
      const { client, wait } = await connections.connect()
      let isBroken = true
      try {
        // We pass plain texts: pg copies the description of every other query, which takes 5 µs.
        await wait.answer(
          client.query(isolation === undefined ? 'begin' : `begin isolation level ${isolation}`),
        )
        isBroken = false
        waits.set(client, wait)
        const result = await watched(client, () => new SqlTransaction(client, parts).run(work))
        await commit(client, wait)
        return result
      } catch (error) {
        isBroken ||= await isBeyondRollback(client, wait)
        throw error
      } finally {
        wait.close()
        waits.delete(client)
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

    ownSession(tx) {
      const client = transactionOf(tx)?.handle
      const wait = client && waits.get(client)
      return client && wait && sessionOn(client, wait)
    },

    inTransaction(tx) {
      if (isPool(tx)) return false
      const known = transactionOf(tx)
      if (known !== undefined && !known.isOpen) return false

      // A client that has sent BEGIN, but got no response yet, still counts as idle.
      const status = (known?.handle ?? tx).getTransactionStatus?.()
      return status === 'T' || status === 'E' ? true : undefined
    },

    // A pooler makes up the process number that a client learns when it connects.
    async isPooled() {
      const { client, wait } = await connections.connect()
      let isBroken = true
      try {
        const [row] = rowsOf(await wait.answer(client.query(queryOf(backendProcess), [])))
        isBroken = false
        return client.processID !== undefined && client.processID !== Number(row![0])
      } finally {
        wait.close()
        client.release(isBroken)
      }
    },

    listen: (channel, callback) => listeners.listen(channel, callback),

    dropSilent(silentMs) {
      connections.dropSilent(silentMs)
      listeners.check()
    },
  }

  function sessionOn(client: PgClient, wait?: ConnectionWait): PostgresSession {
    return {
      async run(statement, values) {
        const answer = client.query(queryOf(statement), valuesOf(values))
        try {
          return rowsOf(await (wait === undefined ? answer : wait.answer(answer)))
        } catch (error) {
          throw preparedFailure(error)
        }
      },
    }
  }

  // pg copies every own property of a query description. That would take longer than everything else we do to
  // write an event, so these properties are inherited. We do so only for named statements: tools that add a
  // comment to statements copy the unnamed ones.
  function queryOf(statement: Statement): PgQuery {
    const { name, text } = statement
    if (!prepare || name === undefined) return { text, rowMode: 'array', types }

    let description = descriptions.get(statement)
    if (description === undefined) {
      description = { name, text, rowMode: 'array', types }
      descriptions.set(statement, description)
    }
    return Object.create(description) as PgQuery
  }
}

function valuesOf(values: readonly Value[] = []): Value[] {
  return values as Value[]
}

function rowsOf({ rows }: PgResult): Rows {
  return rows as unknown as Rows
}

/**
 * Refuses a pool that the store cannot read from, and makes sure that a lost connection does not end the
 * process.
 */
function guardPool(pool: PgPool): void {
  const { binary } = (pool.options ?? {}) as { binary?: unknown }
  if (binary === true)
    throw invalidOption('postgresStore', 'client', pool, () => 'a pool without binary: true')
  if (guarded.has(pool)) return

  guarded.add(pool)
  // The pool has dropped the client by then, and makes a new one when it needs one.
  pool.on('error', ignore)
  pool.on('acquire', guardClient)
}

/**
 * While a client is in use, the pool does not handle its errors, and a lost connection would end the process.
 * We attach a handler when the pool hands out the client, before the caller sees it.
 */
function guardClient(client: PgClient): void {
  if (guarded.has(client)) return
  guarded.add(client)
  client.on('error', ignore)
}

/**
 * Rejects if the caller began another transaction on the client by hand meanwhile. The commit would then
 * belong to the other one, whatever became of the first.
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

async function commit(client: PgClient, wait: ConnectionWait): Promise<void> {
  if (client.getTransactionStatus?.() === 'I') throw endedByHand()

  const answer = await wait.answer(client.query('commit')).catch((error: unknown) => {
    throw commitFailure(error)
  })
  // A server that is told to commit a failed transaction rolls back without an error. Its command tag shows
  // that.
  if (answer.command !== 'COMMIT') throw rolledBack()
}

/** Rolls back. Returns true if the state of the client is unclear afterwards: it must not be used again. */
async function isBeyondRollback(client: PgClient, wait: ConnectionWait): Promise<boolean> {
  if (wait.isEnded) return true
  if (client.getTransactionStatus?.() === 'I') return false
  try {
    await wait.answer(client.query('rollback'))
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
