import type { OptionCheck } from '../../options.ts'
import { anything, checkOptions, flag, oneOf, requireOptions } from '../../options.ts'
import type { CompleteStore } from '../../store/index.ts'
import { textOfWakeUp, wakeUpForLater } from '../wake-up-text.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { driverOf } from './drivers/driver-of.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertPartitionedRows, insertRows } from './insert-rows.ts'
import { checkSchema, migrate, schemaSql } from './schema/migrations.ts'
import { ownDriver } from './drivers/own-driver.ts'
import { addPartitions, dropPartitions } from './schema/time-partition-upkeep.ts'
import type { PostgresClient, PostgresTx } from './drivers/postgres-client.ts'
import { pause, paused, resume } from './postgres-controls.ts'
import { isCommitRefused, needsTransaction, serverErrorOf } from './postgres-errors.ts'
import { blockedKeys, lockKeys, parkKey, retryKey, skipKey, unparkKey } from './postgres-keys.ts'
import { readAll, readLanes } from './postgres-lanes.ts'
import { acquireLock, pollPending, releaseLock, renewLock } from './postgres-locks.ts'
import { joinNode } from './postgres-nodes.ts'
import { acquirePartitions, holdRows, releasePartitions, sharesOf } from './postgres-partitions.ts'
import { postgresTables } from './schema/postgres-tables.ts'
import { PostgresWakeUps } from './postgres-wake-ups.ts'
import { purgeRows } from './purge-rows.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import { replayRows } from './replay-rows.ts'
import { settleRows } from './settle-rows.ts'
import { statementsFor } from './sql/statements.ts'
import { defaultTable } from '../sql/table-name.ts'
import type { PartitionPeriod } from '../sql/time-partitions.ts'

export interface PostgresStoreOptions<Client extends PostgresClient> {
  /** A pool of `pg`, the `sql` of postgres.js, or a PGlite database. The store does not close it. */
  readonly client: Client
  /** `public` unless told otherwise; made by `migrate` where it does not exist. */
  readonly schema?: string
  /** `outbox_event` unless told otherwise. The tables beside it start with the same name. */
  readonly table?: string
  /** Whether processes wake each other by LISTEN and NOTIFY. False where a pooler does not let them. */
  readonly notify?: boolean
  /** Whether statements are prepared by name. False where a pooler does not support it. */
  readonly prepare?: boolean
  /**
   * Divides the table into parts, by the time that ids of events begin with, of which a purge drops
   * those that are old as a whole. To be decided when the table is made.
   */
  readonly partitionBy?: PartitionPeriod
}

/** A store in PostgreSQL. It leaves out wake-ups where `notify` is false, and nothing else. */
export interface PostgresStore<Tx> extends CompleteStore<Tx> {
  /** The whole current schema as SQL, for those who migrate with a tool of their own. */
  schemaSql(): string
}

const optionChecks: Readonly<Record<keyof PostgresStoreOptions<PostgresClient>, OptionCheck>> = {
  client: anything,
  // These have a check and an error code of their own.
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

/** The value of each option that is left out. */
export const postgresDefaults = { schema: 'public', table: defaultTable, notify: true, prepare: true }

/** Keeps events in a PostgreSQL database, from version 15 on. */
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
    prepare = postgresDefaults.prepare,
    partitionBy,
  } = options
  const tables = postgresTables(schema, table, partitionBy)
  const statements = statementsFor(tables)
  const driver = driverOf(client, { prepare })
  const own = ownDriver(driver)
  const insert = partitionBy ? insertPartitionedRows : insertRows
  const wakeUps = new PostgresWakeUps(own, tables.channel, statements)

  const store: PostgresStore<object> = {
    capabilities: { durable: driver.durable, multiProcess: driver.multiProcess },

    schemaSql: () => schemaSql(tables),

    async migrate() {
      await migrate(own, tables)
      if (partitionBy !== undefined) await addPartitions(own, tables, partitionBy)
    },

    refusedCommit: isCommitRefused,

    checkSchema: () => checkSchema(own, tables),

    async transaction(work, options) {
      if (options !== undefined) checkOptions('transaction', options, transactionChecks)
      return await (options?.within === undefined
        ? own.transaction(work, options?.isolation)
        : driver.nested(options.within, work))
    },

    async inTransaction(tx) {
      const told = driver.inTransaction(tx)
      if (told !== undefined) return told
      try {
        await driver.session(tx).run(statements.assertTransaction)
        return true
      } catch (error) {
        if (needsTransaction(error)) return false
        // A transaction that has failed is one nevertheless: the insert will say what is wrong with it.
        if (serverErrorOf(error) !== undefined) return true
        throw error
      }
    },

    insert({ tx, rows, lease, announce = false }) {
      const session = driver.session(tx)
      const later = announce && notify ? wakeUpForLater(rows, Date.now()) : undefined
      const inserted = () => insert(session, statements, rows, lease, announce && notify)
      if (later === undefined) return inserted()
      return session.run(statements.notify, [tables.channel, textOfWakeUp(later)]).then(inserted)
    },

    claim: (request) => claimRows(own, statements, request),

    claimTypes: (request) => claimRowsOfTypes(own, statements, request),

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
      shares: (owner) => sharesOf(own, statements, owner),
      acquire: ({ owner, partitions }) => acquirePartitions(own, statements, owner, partitions),
      release: ({ owner, partitions }) => releasePartitions(own, statements, owner, partitions),
    },

    lanes: {
      lock: ({ tx, keys }) => lockKeys(driver.session(tx), statements, keys),
      read: (request) => readLanes(own, statements, request),
      readAll: (request) => readAll(own, statements, request),
      hold: ({ owner, rows }) => holdRows(own, statements, owner, rows),
    },

    orderingKeys: {
      blocked: (filter) => blockedKeys(own, statements, filter),
      retry: (key) => retryKey(own, statements, key),
      skip: ({ orderingKey, reason }) => skipKey(own, statements, orderingKey, reason),
      park: (key) => parkKey(own, statements, key),
      unpark: (key) => unparkKey(own, statements, key),
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

    ...(notify && { wakeUps }),

    ping: async () => void (await own.run({ text: 'select 1' })),

    ...(driver.dropSilent && { dropSilent: (silentMs: number) => driver.dropSilent!(silentMs) }),

    ...(driver.warnings && { doctor: async () => driver.warnings! }),

    ...(partitionBy && { upkeep: () => addPartitions(own, tables, partitionBy) }),

    async close() {
      own.close()
      await wakeUps.close()
    },
  }
  return store as unknown as PostgresStore<PostgresTx<Client>>
}
