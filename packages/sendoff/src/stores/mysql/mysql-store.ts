import type { OptionCheck } from '../../options.ts'
import { anything, checkOptions, flag, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { defaultTable } from '../sql/table-name.ts'
import type { PartitionPeriod } from '../sql/time-partitions.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { driverOf } from './drivers/driver-of.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows } from './insert-rows.ts'
import { checkSchema, migrate, schemaSql } from './schema/migrations.ts'
import type { MysqlClient, MysqlTx } from './drivers/mysql-client.ts'
import { pause, paused, resume } from './mysql-controls.ts'
import { isCommitRefused } from './mysql-errors.ts'
import { blockedKeys, retryKey, skipHead } from './mysql-keys.ts'
import { acquireLock, pollPending, releaseLock, renewLock } from './mysql-locks.ts'
import { joinNode } from './mysql-nodes.ts'
import { acquirePartitions, holdRows, readShares, releasePartitions } from './mysql-partitions.ts'
import { mysqlTables } from './schema/mysql-tables.ts'
import { ownDriver } from './drivers/own-driver.ts'
import { addPartitions, dropPartitions } from './schema/time-partition-upkeep.ts'
import { purgeRows } from './purge-rows.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import { readLanes, readOneLane } from './mysql-lanes.ts'
import { replayRows } from './replay-rows.ts'
import { settleRows } from './settle-rows.ts'
import { isInTransaction } from './drivers/foreign-session.ts'
import { statementsFor } from './sql/statements.ts'
import { lockKeys } from './write-locks.ts'

export interface MysqlStoreOptions<Client extends MysqlClient> {
  /** A pool of `mysql2` (with promises or callbacks) or of `mariadb`. The store does not close it. */
  readonly client: Client
  /** The one that the pool's connections have chosen, unless told otherwise. It has to exist. */
  readonly database?: string
  /** `outbox_event` unless told otherwise. The tables beside it start with the same name. */
  readonly table?: string
  /** Whether the insert of an event stays prepared on each connection. False where a proxy does not support it. */
  readonly prepare?: boolean
  /** Divides the table by time, so that a purge can drop whole parts of it. Decided when the table is made. */
  readonly partitionBy?: PartitionPeriod
}

/** A store in MySQL or MariaDB. It leaves out only wake-ups. */
export interface MysqlStore<Tx> extends CompleteStore<Tx> {
  /** The whole current schema as SQL, for those who migrate with a tool of their own. */
  schemaSql(): string
}

const optionChecks: Readonly<Record<keyof MysqlStoreOptions<MysqlClient>, OptionCheck>> = {
  client: anything,
  // These have a check and an error code of their own.
  database: anything,
  table: anything,
  prepare: flag,
  partitionBy: oneOf('day', 'week', 'month'),
}

/** The value of each option that is left out. */
export const mysqlDefaults = { table: defaultTable, prepare: true }

/** Keeps events in a MySQL database, from version 8.0 on, or in MariaDB from version 10.6 on. */
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
  } = options
  const tables = mysqlTables(database, table, partitionBy)
  const statements = statementsFor(tables)
  const driver = driverOf(client, { prepare })
  const own = ownDriver(driver)
  const lastClaim = { isEmpty: true }

  const store: MysqlStore<object> = {
    capabilities: { durable: true, multiProcess: true },

    schemaSql: () => schemaSql(tables),

    async migrate() {
      await migrate(own, tables)
      if (partitionBy !== undefined) await addPartitions(own, tables, partitionBy)
    },

    refusedCommit: isCommitRefused,

    checkSchema: () => checkSchema(own, tables),

    transaction: (work, options) =>
      options?.within === undefined ? own.transaction(work, options) : driver.nested(options.within, work),

    inTransaction: async (tx) => (await driver.inTransaction(tx)) ?? isInTransaction(driver.session(tx)),

    insert: ({ tx, rows, lease }) =>
      insertRows(driver.session(tx), statements, rows, lease, driver.keepsRows(tx)),

    claim: (request) => claimRows(own, statements, request, lastClaim),

    claimTypes: (request) => claimRowsOfTypes(own, statements, request, lastClaim),

    pollPending: (request) => pollPending(own, statements, request),

    renew: ({ rows, lease }) => renewRows(own, statements, rows, lease),

    release: (rows) => releaseRows(own, statements, rows),

    settle: ({ settlements, owner }) => settleRows(own, statements, settlements, owner),

    locks: {
      acquire: (request) => acquireLock(own, statements, request),
      renew: (request) => renewLock(own, statements, request),
      release: (fence) => releaseLock(own, statements, fence),
    },

    partitions: {
      shares: (owner) => readShares(own, statements, owner),
      acquire: ({ owner, partitions }) => acquirePartitions(own, statements, owner, partitions),
      release: ({ owner, partitions }) => releasePartitions(own, statements, owner, partitions),
    },

    lanes: {
      lock: async ({ tx, keys }) => lockKeys(driver.session(tx), statements, keys),
      read: (request) => readLanes(own, statements, request),
      readAll: (request) => readOneLane(own, statements, request),
      hold: ({ owner, rows }) => holdRows(own, statements, owner, rows),
    },

    orderingKeys: {
      blocked: (filter) => blockedKeys(own, statements, filter),
      retry: (key) => retryKey(own, statements, key),
      skip: ({ orderingKey, reason }) => skipHead(own, statements, orderingKey, reason),
      park: async (key) => void (await own.run(statements.setControl, ['park', Buffer.from(key)])),
      unpark: async (key) => void (await own.run(statements.liftControl, ['park', Buffer.from(key)])),
    },

    people: {
      query: (filter) => queryRows(own, statements, filter),
      count: (filter) => countRows(own, statements, filter),
      attempts: (row) => failedAttempts(own, statements, row),
      replay: (rows) => replayRows(own, statements, rows),
    },

    async purge(request) {
      if (partitionBy === undefined || request.cursor !== undefined) {
        return purgeRows(own, statements, request)
      }

      await addPartitions(own, tables, partitionBy)
      const dropped = await dropPartitions(own, tables, request)
      const result = await purgeRows(own, statements, request)
      return { ...result, deletedRows: result.deletedRows + dropped }
    },

    controls: {
      pause: (target) => pause(own, statements, target),
      resume: (target) => resume(own, statements, target),
      paused: () => paused(own, statements),
    },

    nodes: {
      join: (node) => joinNode(own, statements, node),
      leave: async (id) => void (await own.run(statements.leaveNode, [id])),
    },

    ping: async () => void (await own.run('do 0')),

    dropSilent: (silentMs) => driver.dropSilent(silentMs),

    ...(partitionBy && { upkeep: () => addPartitions(own, tables, partitionBy) }),

    async close() {
      own.close()
    },
  }
  return store as unknown as MysqlStore<MysqlTx<Client>>
}
