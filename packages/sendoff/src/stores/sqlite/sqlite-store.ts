import type { OptionCheck } from '../../options.ts'
import { anything, callable, checkOptions, durationOrZero, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore, RowId } from '../../store/index.ts'
import { checkedTableName, defaultTable } from '../sql/table-name.ts'
import { nextPlace } from '../../store/due-order.ts'
import { claimRows, claimRowsOfTypes, isAnyDue, isAnyDueOfTypes, windowEnd } from './claim-rows.ts'
import { insertRows } from './insert-rows.ts'
import { checkSchema, isCurrent, migrate, schemaSql } from './schema/migrations.ts'
import { purgeRows } from './purge-rows.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import { readLanes, readOneLane } from './sqlite-lanes.ts'
import { replayRows } from './replay-rows.ts'
import { changesHeld, settleRows } from './settle-rows.ts'
import type { SqliteHandle, SqliteStatement } from './drivers/sqlite-client.ts'
import { hasOpenTransaction, isDatabaseError } from './drivers/sqlite-client.ts'
import { SqliteConnection } from './drivers/sqlite-connection.ts'
import { pause, paused, resume } from './sqlite-controls.ts'
import { blockedKeys, retryKey, skipHead } from './sqlite-keys.ts'
import { acquireLock, pollPending, previewPoll, renewLock } from './sqlite-locks.ts'
import { joinNode } from './sqlite-nodes.ts'
import {
  acquirePartitions,
  endLapsedParts,
  holdRows,
  readShares,
  releasePartitions,
} from './sqlite-partitions.ts'
import { endedByHand, SqliteTransaction } from './drivers/sqlite-transaction.ts'
import { StatementPool } from './drivers/statement-pool.ts'
import type { PreparedStatements } from './sql/statements.ts'
import { prepareStatements } from './sql/statements.ts'
import { transactionOf } from './drivers/transaction-view.ts'

export interface SqliteStoreOptions<Handle extends SqliteHandle> {
  /** Opens a handle that is the store's own from then on; called at its first use. The store closes it. */
  readonly open: () => Handle
  /** `outbox_event` unless told otherwise. The tables beside it start with the same name. */
  readonly table?: string
  /**
   * `FULL` (the default) keeps every commit through a power failure. `NORMAL` is several times
   * faster and may lose the last commits then, though never through the end of a process alone.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** How long to wait for other processes before `OUTBOX_STORE_BUSY`: 5000 unless told otherwise. */
  readonly busyTimeoutMs?: number
  /** Epoch milliseconds: `Date.now` unless told otherwise. SQLite has no clock of its own. */
  readonly now?: () => number
}

/** A store in SQLite. It leaves out only wake-ups. */
export interface SqliteStore<Handle extends SqliteHandle> extends CompleteStore<Handle> {
  /** The whole current schema as SQL, for those who migrate with a tool of their own. */
  schemaSql(): string
}

const optionChecks: Readonly<Record<keyof SqliteStoreOptions<SqliteHandle>, OptionCheck>> = {
  open: callable,
  // Has a check and an error code of its own.
  table: anything,
  synchronous: oneOf('FULL', 'NORMAL'),
  busyTimeoutMs: durationOrZero,
  now: callable,
}

/** The value of each option that is left out. */
export const sqliteDefaults = { table: defaultTable, synchronous: 'FULL', busyTimeoutMs: 5_000 } as const

/** Keeps events in an SQLite database, by `node:sqlite` or better-sqlite3. Several processes may share the file. */
export function sqliteStore<Handle extends SqliteHandle>(
  options: SqliteStoreOptions<Handle>,
): SqliteStore<Handle> {
  checkOptions('sqliteStore', options, optionChecks)
  requireOptions('sqliteStore', options, ['open'])

  const {
    open,
    synchronous = sqliteDefaults.synchronous,
    busyTimeoutMs = sqliteDefaults.busyTimeoutMs,
  } = options
  const table = checkedTableName(options.table ?? sqliteDefaults.table)
  const clock = options.now ?? Date.now
  const now = () => Math.floor(clock())

  const connection = new SqliteConnection({ open, synchronous, busyTimeoutMs })
  const preparedOn = new WeakMap<SqliteHandle, PreparedStatements>()
  const poolsOf = new WeakMap<SqliteHandle, StatementPool>()
  const foreignTransactions = new WeakMap<SqliteHandle, SqliteTransaction<Handle>>()

  return {
    capabilities: { durable: true, multiProcess: true },

    schemaSql: () => schemaSql(table),

    migrate: () =>
      connection.alone(async (handle) => {
        if (await connection.retrying(() => isCurrent(handle, table))) return
        await writeOn(handle, () => migrate(handle, table))
      }),

    checkSchema: () => connection.alone((handle) => connection.retrying(() => checkSchema(handle, table))),

    transaction: (work, { within } = {}) =>
      within === undefined ? transaction(work) : transactionAround(within).nested(work),

    // What fails to commit is rolled back right after.
    refusedCommit: isDatabaseError,

    inTransaction(tx) {
      const known = transactionOf(tx)
      return known === undefined ? hasOpenTransaction(tx) : known.isOpen && hasOpenTransaction(known.handle)
    },

    async insert({ tx, rows, lease }) {
      const transaction = transactionOf(tx)
      transaction?.assertOpen()
      // One of our views, or a handle with a transaction of its own.
      const statements = statementsOn(transaction?.handle ?? tx)
      const results = insertRows(statements, rows, lease, now(), transaction?.keepsRows ?? false)
      const first = results.findIndex(({ kind }) => kind === 'inserted')
      if (first >= 0) transaction?.wrote(rows[first]!)
      return results
    },

    async claim(request) {
      if (request.limit <= 0) return []

      return connection.alone(async (handle) => {
        const worthwhile =
          request.rows === undefined
            ? await readOn(handle, (statements) => isAnyDue(statements, request, now()))
            : request.rows.length > 0
        return worthwhile ? writeOn(handle, (statements) => claimRows(statements, request, now())) : []
      })
    },

    async claimTypes(request) {
      if (request.limit <= 0) return { rows: [], next: undefined }

      return connection.alone(async (handle) => {
        const end = await readOn(handle, (statements) => windowEnd(statements, request, now()))
        const worthwhile = await readOn(handle, (statements) =>
          isAnyDueOfTypes(statements, request, end, now()),
        )
        const rows = worthwhile
          ? await writeOn(handle, (statements) => claimRowsOfTypes(statements, request, end, now()))
          : []
        return { rows, next: nextPlace(rows, request.limit, end) }
      })
    },

    pollPending: (request) =>
      connection.alone(async (handle) => {
        const preview = await readOn(handle, (statements) => previewPoll(statements, request, now()))
        if (preview === 'work')
          return writeOn(handle, (statements) => pollPending(statements, request, now()))
        return preview === 'idle' ? [] : undefined
      }),

    async renew({ rows, lease }) {
      if (rows.length === 0) return []

      return write(({ renew }) => {
        const until = Math.ceil(now() + lease.ms)
        return rows.filter((row) => row.lockedBy === null || !changesHeld(renew, row, until))
      })
    },

    async release(rows) {
      const leased = rows.filter((row) => row.lockedBy !== null)
      if (leased.length === 0) return

      await write(({ release }) => leased.forEach((row) => changesHeld(release, row)))
    },

    async settle({ settlements, owner }) {
      if (settlements.length === 0) return []
      return write((statements) => settleRows(statements, settlements, owner, now()))
    },

    locks: {
      acquire: (request) => write((statements) => acquireLock(statements, request, now())),

      renew: (request) => write((statements) => renewLock(statements, request, now())),

      release: ({ lock, token }) => write(({ releaseLock }) => void releaseLock.run(lock, token)),
    },

    partitions: {
      shares: (owner) =>
        connection.alone(async (handle) => {
          const shares = await snapshotOn(handle, (statements) => readShares(statements, owner, now()))
          if (shares !== 'lapsed') return shares
          return writeOn(handle, (statements) => endLapsedParts(statements, owner, now()))
        }),

      acquire: ({ owner, partitions }) =>
        write((statements) => acquirePartitions(statements, owner, partitions, now())),

      release: ({ owner, partitions }) =>
        write((statements) => releasePartitions(statements, owner, partitions)),
    },

    lanes: {
      // Transactions run one at a time: they are committed in the order of writing.
      async lock() {},

      read: (request) => readingAs(request.renewMs, (statements) => readLanes(statements, request, now())),

      readAll: (request) =>
        readingAs(request.renewMs, (statements) => readOneLane(statements, request, now())),

      hold: ({ owner, rows }) => write((statements) => holdRows(statements, owner, rows, now())),
    },

    orderingKeys: {
      blocked: (filter) =>
        connection.alone((handle) =>
          snapshotOn(handle, (statements) => blockedKeys(statements, filter, now())),
        ),

      retry: (key) => write((statements) => retryKey(statements, key, now())),
      skip: ({ orderingKey, reason }) =>
        write((statements) => skipHead(statements, orderingKey, reason, now())),
      park: (key) => write(({ setControl }) => void setControl.run('park', key, now())),
      unpark: (key) => write(({ liftControl }) => void liftControl.run('park', key)),
    },

    people: {
      query: (filter) => read((statements) => queryRows(statements, filter)),

      count: (filter) => read((statements) => countRows(statements, filter)),

      attempts: (row) => read((statements) => failedAttempts(statements, row)),

      async replay(rows) {
        return rows.length === 0 ? 0 : write((statements) => replayRows(statements, rows, now()))
      },
    },

    purge: (request) => write((statements) => purgeRows(statements, request, now())),

    controls: {
      pause: (target) => write((statements) => pause(statements, target, now())),
      resume: (target) => write((statements) => resume(statements, target)),
      paused: () => read(paused),
    },

    nodes: {
      join: (node) => write((statements) => joinNode(statements, node, now())),
      leave: (id) => write(({ leaveNode }) => void leaveNode.run(id)),
    },

    close: () => connection.close(),
  }

  async function transaction<Result>(work: (tx: Handle) => Promise<Result>): Promise<Result> {
    const handle = await connection.enter()
    try {
      const { begin, commit, exists } = statementsOn(handle)
      await connection.retrying(() => begin.run())

      const transaction = new SqliteTransaction(handle, poolOf(handle))
      const isThere = (row: RowId) => exists.get(row.eventId, row.destination) !== undefined
      try {
        const result = await connection.asTransaction(transaction, () => transaction.run(work))
        if (!hasOpenTransaction(handle) || transaction.wasReplaced(isThere)) throw endedByHand()
        await connection.retrying(() => commit.run())
        return result
      } catch (error) {
        connection.rollBack(handle)
        throw error
      }
    } finally {
      connection.leave()
    }
  }

  function transactionAround(tx: Handle): SqliteTransaction<Handle> {
    const known = (transactionOf(tx) as SqliteTransaction<Handle> | undefined) ?? foreignTransactions.get(tx)
    if (known !== undefined) return known

    const foreign = new SqliteTransaction(tx)
    foreignTransactions.set(tx, foreign)
    return foreign
  }

  function read<Result>(work: (statements: PreparedStatements) => Result): Promise<Result> {
    return connection.alone((handle) => readOn(handle, work))
  }

  function write<Result>(work: (statements: PreparedStatements) => Result): Promise<Result> {
    return connection.alone((handle) => writeOn(handle, work))
  }

  /** Takes the write lock only where there is something to renew: an idle owner stands in nobody's way. */
  function readingAs<Result>(
    renewMs: number | undefined,
    work: (statements: PreparedStatements) => Result,
  ): Promise<Result> {
    return connection.alone((handle) =>
      renewMs === undefined ? snapshotOn(handle, work) : writeOn(handle, work),
    )
  }

  function readOn<Result>(
    handle: Handle,
    work: (statements: PreparedStatements) => Result,
  ): Result | Promise<Result> {
    return connection.retrying(() => work(statementsOn(handle)))
  }

  function writeOn<Result>(
    handle: Handle,
    work: (statements: PreparedStatements) => Result,
  ): Result | Promise<Result> {
    return togetherOn(handle, statementsOn(handle).begin, work)
  }

  /** All that `work` reads is of one moment. */
  function snapshotOn<Result>(
    handle: Handle,
    work: (statements: PreparedStatements) => Result,
  ): Result | Promise<Result> {
    return togetherOn(handle, statementsOn(handle).beginRead, work)
  }

  function togetherOn<Result>(
    handle: Handle,
    begin: SqliteStatement,
    work: (statements: PreparedStatements) => Result,
  ): Result | Promise<Result> {
    const statements = statementsOn(handle)

    return connection.retrying(() => {
      begin.run()
      try {
        const result = work(statements)
        statements.commit.run()
        return result
      } catch (error) {
        connection.rollBack(handle)
        throw error
      }
    })
  }

  function poolOf(handle: SqliteHandle): StatementPool {
    const known = poolsOf.get(handle)
    if (known !== undefined) return known

    const pool = new StatementPool(handle)
    poolsOf.set(handle, pool)
    return pool
  }

  function statementsOn(handle: SqliteHandle): PreparedStatements {
    const known = preparedOn.get(handle)
    if (known !== undefined) return known

    const prepared = prepareStatements(handle, table)
    preparedOn.set(handle, prepared)
    return prepared
  }
}
