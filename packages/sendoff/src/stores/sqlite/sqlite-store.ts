import { partNeedingRevision } from '../schema-revision.ts'
import type { OptionCheck } from '../../options.ts'
import { anything, callable, checkOptions, durationOrZero, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { DestinationIndexes } from '../sql/destination-indexes.ts'
import type { SchemaSqlOptions } from '../sql/schema-sql-options.ts'
import { defaultTable } from '../sql/table-name.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { OwnDriver } from './drivers/own-driver.ts'
import type { SqliteHandle } from './drivers/sqlite-client.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows } from './insert-rows.ts'
import { pollPending } from './poll-pending.ts'
import { purgeRows } from './purge-rows.ts'
import { hasDestinationIndexes } from './schema/destination-indexes.ts'
import { checkSchema, migrate, placeOf, schemaSql } from './schema/migrations.ts'
import { sqliteTables } from './schema/sqlite-tables.ts'
import { settleRows } from './settle-rows.ts'
import { sqliteActions } from './sqlite-actions.ts'
import { examine } from './sqlite-doctor.ts'
import { sqliteControls } from './sqlite-controls.ts'
import { isDatabaseError, isReadOnly, lacksSchema } from './sqlite-errors.ts'
import { sqliteInbox } from './sqlite-inbox.ts'
import { sqliteLanes } from './sqlite-lanes.ts'
import { sqliteLocks } from './sqlite-locks.ts'
import { sqliteLooks } from './sqlite-looks.ts'
import { sqliteNodes } from './sqlite-nodes.ts'
import { sqliteOrderingKeys } from './sqlite-ordering-keys.ts'
import { sqlitePartitions } from './sqlite-partitions.ts'
import { sqlitePeople } from './sqlite-people.ts'
import { sqliteReports } from './sqlite-reports.ts'
import { sqliteRouting } from './sqlite-routing.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions<Handle extends SqliteHandle> {
  /** Opens the handle of the store, at its first use. Only the store may use the handle, and closes it. */
  readonly open: () => Handle
  /** The table of events. The names of the other tables begin with it. Default: `outbox_event`. */
  readonly table?: string
  /**
   * `FULL` keeps every commit through a power failure. `NORMAL` is several times faster, but a power failure
   * may lose the last commits. The end of a process alone never loses any. Default: `FULL`.
   */
  readonly synchronous?: 'FULL' | 'NORMAL'
  /** How many milliseconds to wait for other processes before `OUTBOX_STORE_BUSY`. Default: 5000. */
  readonly busyTimeoutMs?: number
  /** The clock: returns epoch milliseconds. SQLite has no clock of its own. Default: `Date.now`. */
  readonly now?: () => number
}

/** A store in SQLite. It has all parts except wake-ups. */
export interface SqliteStore<Handle extends SqliteHandle> extends CompleteStore<Handle> {
  /**
   * Returns the current schema as SQL, for migrations with a tool of your own. It can be run again. With
   * `from`, returns only the steps after that revision.
   */
  schemaSql(options?: SchemaSqlOptions): string
}

const optionChecks: Readonly<Record<keyof SqliteStoreOptions<SqliteHandle>, OptionCheck>> = {
  open: callable,
  // This option has its own check and error code.
  table: anything,
  synchronous: oneOf('FULL', 'NORMAL'),
  busyTimeoutMs: durationOrZero,
  now: callable,
}

/** The defaults of the options. */
export const sqliteDefaults = { table: defaultTable, synchronous: 'FULL', busyTimeoutMs: 5_000 } as const

/**
 * Makes a store that keeps events in an SQLite database, by `node:sqlite` or better-sqlite3. Several
 * processes may share the file.
 */
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
  const destinations = new DestinationIndexes(() =>
    own.alone((session) => session.read(() => hasDestinationIndexes(session.handle, tables))),
  )

  return {
    capabilities: { durable: true, multiProcess: true },

    schemaSql: (options) => schemaSql(tables, options),
    migrate: () => migrate(own, tables),
    checkSchema: () => checkSchema(own, tables),

    transaction: (work, { within } = {}) =>
      within === undefined ? own.transaction(work) : own.nested(within, work),
    // A transaction that fails to commit is rolled back right after.
    refusedCommit: isDatabaseError,
    refusedWrite: isReadOnly,
    inTransaction: (tx) => own.inTransaction(tx),
    insert: (request) => insertRows(own, request),

    claim: (request) => claimRows(own, request, destinations.cover(request)),
    claimTypes: (request) => claimRowsOfTypes(own, request, destinations.cover(request)),
    renew: (request) => renewRows(own, request),
    release: (rows) => releaseRows(own, rows),
    settle: (request) => settleRows(own, request),

    locks: sqliteLocks(own, destinations),
    pollPending: (request) => pollPending(own, request, destinations.cover(request)),

    lanes: sqliteLanes(own, destinations),
    partitions: sqlitePartitions(own),
    orderingKeys: sqliteOrderingKeys(own),
    people: sqlitePeople(own),
    looks: sqliteLooks(own, tables),
    actions: partNeedingRevision({ place: placeOf(tables), revision: 2, lacksSchema }, sqliteActions(own)),
    controls: sqliteControls(own),
    routing: destinations.followedByRouting(sqliteRouting(own, tables)),
    nodes: destinations.followedBy(sqliteNodes(own)),
    reports: sqliteReports(own, tables),
    inbox: sqliteInbox(own),
    purge: (request) => purgeRows(own, request),

    doctor: (request) => examine(own, tables, request),
    close: () => own.close(),
  }
}
