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
import type { MysqlClient, MysqlTx } from './drivers/mysql-client.ts'
import { ownDriver } from './drivers/own-driver.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows } from './insert-rows.ts'
import { mysqlActions } from './mysql-actions.ts'
import { examine } from './mysql-doctor.ts'
import { mysqlControls } from './mysql-controls.ts'
import { isCommitRefused, isTransactionConflict, isWriteRefused, lacksSchema } from './mysql-errors.ts'
import { mysqlInbox } from './mysql-inbox.ts'
import { mysqlLanes } from './mysql-lanes.ts'
import { mysqlLocks } from './mysql-locks.ts'
import { mysqlLooks } from './mysql-looks.ts'
import { mysqlNodes } from './mysql-nodes.ts'
import { mysqlOrderingKeys } from './mysql-ordering-keys.ts'
import { mysqlPartitions } from './mysql-partitions.ts'
import { mysqlPeople } from './mysql-people.ts'
import { mysqlReports } from './mysql-reports.ts'
import { mysqlRouting } from './mysql-routing.ts'
import { pollPending } from './poll-pending.ts'
import { purgeRows } from './purge-rows.ts'
import { missingDestinationIndexes } from './schema/destination-indexes.ts'
import { checkSchema, migrate, placeOf, schemaSql } from './schema/migrations.ts'
import { mysqlTables } from './schema/mysql-tables.ts'
import { addTimePartitions } from './schema/time-partition-upkeep.ts'
import { settleRows } from './settle-rows.ts'
import { statementsFor } from './sql/statements.ts'

/** Options of `mysqlStore`. */
export interface MysqlStoreOptions<Client extends MysqlClient> {
  /** A pool of `mysql2` (with promises or callbacks) or of `mariadb`. The store does not close it. */
  readonly client: Client
  /**
   * The database of the tables. It has to exist. Default: the one that the pool's connections have chosen.
   */
  readonly database?: string
  /** The table of events. The names of the other tables begin with it. Default: `outbox_event`. */
  readonly table?: string
  /**
   * Whether the insert of an event stays prepared on each connection. Set it to false if a proxy does not
   * support it. Default: true.
   */
  readonly prepare?: boolean
  /**
   * Divides the table into time partitions, so that a purge can drop old ones as a whole. Decide on this
   * before the table is created. Default: one table.
   */
  readonly partitionBy?: PartitionPeriod
  /**
   * Whether statements skip rows that another transaction has locked, by SKIP LOCKED. Without it, workers
   * read rows first and then lock them by their keys, and may wait for one another. Default: what the version
   * of the server says. TiDB, MySQL before 8.0.1 and MariaDB before 10.6 cannot do it.
   */
  readonly skipLocked?: boolean
}

/** A store in MySQL or MariaDB. It has all parts except wake-ups. */
export interface MysqlStore<Tx> extends CompleteStore<Tx> {
  /**
   * Returns the current schema as SQL, for migrations with a tool of your own. It can be run again. With
   * `from`, returns only the steps after that revision.
   */
  schemaSql(options?: SchemaSqlOptions): string
}

const optionChecks: Readonly<Record<keyof MysqlStoreOptions<MysqlClient>, OptionCheck>> = {
  client: anything,
  // These options have their own check and error code.
  database: anything,
  table: anything,
  prepare: flag,
  partitionBy: oneOf('day', 'week', 'month'),
  skipLocked: flag,
}

/** The defaults of the options. */
export const mysqlDefaults = { table: defaultTable, prepare: true }

/** Makes a store that keeps events in MySQL, version 8.0 or later, or in MariaDB, version 10.6 or later. */
export function mysqlStore<Client extends MysqlClient>(
  options: MysqlStoreOptions<Client>,
): MysqlStore<MysqlTx<Client>> {
  checkOptions('mysqlStore', options, optionChecks)
  requireOptions('mysqlStore', options, ['client'])

  const {
    client,
    database,
    table = mysqlDefaults.table,
    prepare = mysqlDefaults.prepare,
    partitionBy,
    skipLocked,
  } = options
  const tables = mysqlTables(database, table, partitionBy)
  const statements = statementsFor(tables)
  const driver = driverOf(client, { prepare })
  const own = ownDriver(driver, skipLocked)
  const lastClaim = { isEmpty: true, crowd: 1 }
  const destinations = new DestinationIndexes(
    async () => (await missingDestinationIndexes(own, tables)).length === 0,
  )

  const store: MysqlStore<object> = {
    capabilities: { durable: true, multiProcess: true },

    schemaSql: (options) => schemaSql(tables, options),
    async migrate(options) {
      await migrate(own, tables, options)
      await addTimePartitions(own, tables)
    },
    checkSchema: () => checkSchema(own, tables),

    transaction: (work, options) =>
      options?.within === undefined ? own.transaction(work, options) : driver.nested(options.within, work),
    refusedCommit: isCommitRefused,
    isConflict: isTransactionConflict,
    refusedWrite: isWriteRefused,
    inTransaction: async (tx) => (await driver.inTransaction(tx)) ?? isInTransaction(tx, driver.session(tx)),
    insert({ tx, rows, lease }) {
      const session = driver.session(tx)
      return insertRows(session, statements, rows, lease, {
        certain: driver.keepsRows(tx),
        // On the caller's own connection: the pool may have no other.
        mostCharacters: () => own.mostCharacters(session),
      })
    },

    claim: (request) => claimRows(own, statements, request, lastClaim, destinations.cover(request)),
    claimTypes: (request) =>
      claimRowsOfTypes(own, statements, request, lastClaim, destinations.cover(request)),
    renew: (request) => renewRows(own, statements, request),
    release: (rows) => releaseRows(own, statements, rows),
    settle: (request) => settleRows(own, statements, request),
    pollPending: (request) => pollPending(own, statements, request, destinations.cover(request)),

    locks: mysqlLocks(own, statements, destinations),
    lanes: mysqlLanes(own, statements, destinations),
    partitions: mysqlPartitions(own, statements),
    orderingKeys: mysqlOrderingKeys(own, statements),
    people: mysqlPeople(own, statements),
    looks: mysqlLooks(own, statements, tables),
    actions: partNeedingRevision(
      { place: placeOf(tables), revision: 2, lacksSchema },
      mysqlActions(own, statements, driver),
    ),
    controls: mysqlControls(own, statements),
    routing: destinations.followedByRouting(mysqlRouting(own, statements, tables)),
    nodes: destinations.followedBy(mysqlNodes(own, statements)),
    reports: mysqlReports(own, statements, tables),
    inbox: mysqlInbox(own, statements, driver, tables),

    purge: (request) => purgeRows(own, statements, tables, request),
    ...(partitionBy && { upkeep: () => addTimePartitions(own, tables) }),
    doctor: (request) => examine(own, tables, skipLocked, request),
    ping: async () => void (await own.run('do 0')),
    dropSilent: (silentMs) => driver.dropSilent(silentMs),
    async close() {
      own.close()
    },
  }
  return store as unknown as MysqlStore<MysqlTx<Client>>
}
