import type { OptionCheck } from '../../options.ts'
import { anything, callable, checkOptions, durationOrZero, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { defaultTable } from '../sql/table-name.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteHandle } from './drivers/sqlite-client.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows } from './insert-rows.ts'
import { pollPending } from './poll-pending.ts'
import { purgeRows } from './purge-rows.ts'
import { checkSchema, migrate, schemaSql } from './schema/migrations.ts'
import { sqliteTables } from './schema/sqlite-tables.ts'
import { settleRows } from './settle-rows.ts'
import { sqliteControls } from './sqlite-controls.ts'
import { isDatabaseError } from './sqlite-errors.ts'
import { sqliteLanes } from './sqlite-lanes.ts'
import { sqliteLocks } from './sqlite-locks.ts'
import { sqliteNodes } from './sqlite-nodes.ts'
import { sqliteOrderingKeys } from './sqlite-ordering-keys.ts'
import { sqlitePartitions } from './sqlite-partitions.ts'
import { sqlitePeople } from './sqlite-people.ts'

/** The options of `sqliteStore`. */
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
  const tables = sqliteTables(options.table ?? sqliteDefaults.table)
  const clock = options.now ?? Date.now
  const now = () => Math.floor(clock())
  const own = new OwnDriver({ open, synchronous, busyTimeoutMs, tables, now })

  return {
    capabilities: { durable: true, multiProcess: true },

    schemaSql: () => schemaSql(tables),
    migrate: () => migrate(own, tables),
    checkSchema: () => checkSchema(own, tables),

    transaction: (work, { within } = {}) =>
      within === undefined ? own.transaction(work) : own.nested(within, work),
    // What fails to commit is rolled back right after.
    refusedCommit: isDatabaseError,
    inTransaction: (tx) => own.inTransaction(tx),
    insert: (request) => insertRows(own, request),

    claim: (request) => claimRows(own, request),
    claimTypes: (request) => claimRowsOfTypes(own, request),
    renew: (request) => renewRows(own, request),
    release: (rows) => releaseRows(own, rows),
    settle: (request) => settleRows(own, request),

    locks: sqliteLocks(own),
    pollPending: (request) => pollPending(own, request),

    lanes: sqliteLanes(own),
    partitions: sqlitePartitions(own),
    orderingKeys: sqliteOrderingKeys(own),
    people: sqlitePeople(own),
    controls: sqliteControls(own),
    nodes: sqliteNodes(own),
    purge: (request) => purgeRows(own, request),

    close: () => own.close(),
  }
}
