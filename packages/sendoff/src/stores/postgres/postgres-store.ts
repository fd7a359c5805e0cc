import { partNeedingRevision } from '../schema-revision.ts'
import type { OptionCheck } from '../../options.ts'
import { anything, checkOptions, flag, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { DestinationIndexes } from '../sql/destination-indexes.ts'
import type { SchemaSqlOptions } from '../sql/schema-sql-options.ts'
import { defaultTable } from '../sql/table-name.ts'
import type { PartitionPeriod } from '../sql/time-partitions.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { driverOf } from './drivers/driver-of.ts'
import { isInTransaction } from './drivers/foreign-session.ts'
import { explainReadOnly, ownDriver } from './drivers/own-driver.ts'
import type { PostgresClient, PostgresTx } from './drivers/postgres-client.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows, insertTimePartitionedRows } from './insert-rows.ts'
import { pollPending } from './poll-pending.ts'
import { postgresActions } from './postgres-actions.ts'
import { examine } from './postgres-doctor.ts'
import { postgresControls } from './postgres-controls.ts'
import {
  isCommitRefused,
  isConflict,
  isReadOnly,
  isReadOnlyTransaction,
  lacksSchema,
} from './postgres-errors.ts'
import { postgresInbox } from './postgres-inbox.ts'
import { postgresLanes } from './postgres-lanes.ts'
import { postgresLocks } from './postgres-locks.ts'
import { postgresLooks } from './postgres-looks.ts'
import { postgresNodes } from './postgres-nodes.ts'
import { postgresOrderingKeys } from './postgres-ordering-keys.ts'
import { postgresPartitions } from './postgres-partitions.ts'
import { postgresPeople } from './postgres-people.ts'
import { postgresReports } from './postgres-reports.ts'
import { postgresRouting } from './postgres-routing.ts'
import { postgresWakeUps } from './postgres-wake-ups.ts'
import { purgeRows } from './purge-rows.ts'
import { missingDestinationIndexes } from './schema/destination-indexes.ts'
import { checkSchema, migrate, placeOf, schemaSql } from './schema/migrations.ts'
import { postgresTables } from './schema/postgres-tables.ts'
import { addTimePartitions } from './schema/time-partition-upkeep.ts'
import { settleRows } from './settle-rows.ts'
import { statementsFor } from './sql/statements.ts'

/** Options of `postgresStore`. */
export interface PostgresStoreOptions<Client extends PostgresClient> {
  /** A pool of `pg`, the `sql` of postgres.js, or a PGlite database. The store does not close it. */
  readonly client: Client
  /** The schema of the tables. `migrate` creates it if it does not exist. Default: `public`. */
  readonly schema?: string
  /** The table of events. The names of the other tables begin with it. Default: `outbox_event`. */
  readonly table?: string
  /**
   * Whether processes wake each other by LISTEN and NOTIFY. Set it to false if a pooler does not support
   * them. Default: true.
   */
  readonly notify?: boolean
  /**
   * Whether statements are prepared by name. Set it to false if a pooler does not support it. If you set it
   * to true, postgres.js may prepare its statements behind a pooler. Default: true.
   */
  readonly prepare?: boolean
  /**
   * Divides the table into time partitions, by the time at the start of event ids. A purge drops old
   * partitions as a whole. Decide on this before the table is created. Default: one table.
   */
  readonly partitionBy?: PartitionPeriod
}

/** A store in PostgreSQL. It has all parts, except wake-ups if `notify` is false. */
export interface PostgresStore<Tx> extends CompleteStore<Tx> {
  /**
   * Returns the current schema as SQL, for migrations with a tool of your own. It can be run again. With
   * `from`, returns only the steps after that revision.
   */
  schemaSql(options?: SchemaSqlOptions): string
}

const optionChecks: Readonly<Record<keyof PostgresStoreOptions<PostgresClient>, OptionCheck>> = {
  client: anything,
  // These options have their own check and error code.
  schema: anything,
  table: anything,
  notify: flag,
  prepare: flag,
  partitionBy: oneOf('day', 'week', 'month'),
}

const transactionChecks = {
  within: anything,
  isolation: oneOf('read committed', 'repeatable read', 'serializable'),
}

/** The defaults of the options. */
export const postgresDefaults = { schema: 'public', table: defaultTable, notify: true, prepare: true }

/** Makes a store that keeps events in PostgreSQL, version 15 or later. */
export function postgresStore<Client extends PostgresClient>(
  options: PostgresStoreOptions<Client>,
): PostgresStore<PostgresTx<Client>> {
  checkOptions('postgresStore', options, optionChecks)
  requireOptions('postgresStore', options, ['client'])

  const {
    client,
    schema = postgresDefaults.schema,
    table = postgresDefaults.table,
    notify = postgresDefaults.notify,
    prepare,
    partitionBy,
  } = options
  const tables = postgresTables(schema, table, partitionBy)
  const statements = statementsFor(tables)
  const driver = driverOf(client, { prepare })
  const own = ownDriver(driver)
  const insert = partitionBy ? insertTimePartitionedRows : insertRows
  const destinations = new DestinationIndexes(
    async () => (await missingDestinationIndexes(own, tables)).length === 0,
  )
  const wakeUps = postgresWakeUps(own, statements, tables.channel)

  const store: PostgresStore<object> = {
    capabilities: { durable: driver.durable, multiProcess: driver.multiProcess },

    schemaSql: (options) => schemaSql(tables, options),
    async migrate(options) {
      try {
        await migrate(own, tables, options)
        await addTimePartitions(own, tables)
      } catch (error) {
        throw isReadOnlyTransaction(error) ? await explainReadOnly(own, error) : error
      }
    },
    checkSchema: () => checkSchema(own, tables),

    async transaction(work, options) {
      if (options !== undefined) checkOptions('transaction', options, transactionChecks)
      return await (options?.within === undefined
        ? own.transaction(work, options?.isolation)
        : driver.nested(options.within, work))
    },
    refusedCommit: isCommitRefused,
    isConflict,
    refusedWrite: isReadOnly,
    inTransaction: async (tx) =>
      driver.inTransaction(tx) ?? isInTransaction(driver.session(tx), statements.assertTransaction),
    insert: (request) => insert(driver.session(request.tx), statements, request, notify && tables.channel),

    claim: (request) => claimRows(own, statements, request, destinations.cover(request)),
    claimTypes: (request) => claimRowsOfTypes(own, statements, request, destinations.cover(request)),
    renew: (request) => renewRows(own, statements, request),
    release: (rows) => releaseRows(own, statements, rows),
    settle: (request) => settleRows(own, statements, request),
    pollPending: (request) => pollPending(own, statements, request, destinations.cover(request)),

    locks: postgresLocks(own, statements, destinations),
    lanes: postgresLanes(own, statements, driver, destinations),
    partitions: postgresPartitions(own, statements),
    orderingKeys: postgresOrderingKeys(own, statements),
    people: postgresPeople(own, statements),
    looks: postgresLooks(own, statements, tables),
    actions: partNeedingRevision(
      { place: placeOf(tables), revision: 2, lacksSchema },
      postgresActions(own, statements, driver),
    ),
    controls: postgresControls(own, statements),
    routing: destinations.followedByRouting(postgresRouting(own, statements, tables)),
    nodes: destinations.followedBy(postgresNodes(own, statements)),
    reports: postgresReports(own, statements, tables),
    inbox: postgresInbox(own, statements, driver),
    ...(notify && { wakeUps }),

    purge: (request) => purgeRows(own, statements, tables, request),
    ...(partitionBy && { upkeep: () => addTimePartitions(own, tables) }),
    ping: async () => void (await own.run({ text: 'select 1' })),
    ...(driver.dropSilent && { dropSilent: (silentMs: number) => driver.dropSilent!(silentMs) }),
    doctor: (request) =>
      examine({ driver: own, tables, notify, prepare: prepare ?? postgresDefaults.prepare }, request),
    async close() {
      own.close()
      await wakeUps.close()
    },
  }
  return store as unknown as PostgresStore<PostgresTx<Client>>
}
