import type { OptionCheck } from '../../options.ts'
import { anything, checkOptions, requireOptions } from '../../options.ts'
import type { StoreWith } from '../../store/index.ts'
import { claimRows, claimRowsOfTypes } from './claim-rows.ts'
import { commitTransaction, isReadOnly, isServersWord } from './drivers/commit-transaction.ts'
import { driverOf } from './drivers/driver-of.ts'
import { RecordedTransaction, transactionOf } from './drivers/recorded-transaction.ts'
import type { RedisClient, RedisTx } from './drivers/redis-client.ts'
import type { RunScript } from './drivers/run-script.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertRows, noTransaction } from './insert-rows.ts'
import { pollPending } from './poll-pending.ts'
import { purgeRows } from './purge-rows.ts'
import { redisActions } from './redis-actions.ts'
import { redisControls } from './redis-controls.ts'
import { examine } from './redis-doctor.ts'
import { redisKeyspace, wakeChannel } from './redis-keyspace.ts'
import { redisLocks } from './redis-locks.ts'
import { redisLooks } from './redis-looks.ts'
import { redisNodes } from './redis-nodes.ts'
import { redisPeople } from './redis-people.ts'
import { redisReports } from './redis-reports.ts'
import { redisRouting } from './redis-routing.ts'
import { redisWakeUps } from './redis-wake-ups.ts'
import { checkSchema, migrate } from './schema-version.ts'
import { pingScript } from './scripts/upkeep-scripts.ts'
import { settleRows } from './settle-rows.ts'

/** Options of `redisStore`. */
export interface RedisStoreOptions<Client extends RedisClient> {
  /** A client or a cluster of `ioredis` or of `redis`, connected. The store does not close it. */
  readonly client: Client
  /** All keys begin with it, in braces: it is their hash tag. Default: `outbox`. */
  readonly prefix?: string
}

/** A store in Redis. It has no parts that keep events in order: no lanes, partitions or ordering keys. */
export type RedisStore<Tx> = StoreWith<
  Tx,
  'people' | 'looks' | 'actions' | 'controls' | 'routing' | 'wakeUps' | 'purge'
>

const optionChecks: Readonly<Record<keyof RedisStoreOptions<RedisClient>, OptionCheck>> = {
  client: anything,
  // This option has its own check.
  prefix: anything,
}

/** The defaults of the options. */
export const redisDefaults = { prefix: 'outbox' }

/**
 * Makes a store that keeps events in Redis, version 6.2 or later, on one server or in a Cluster. Each state
 * change is one script, and all times are those of the server's clock.
 *
 * A transaction is a MULTI, sent when its code has ended. The result of a row is known only then.
 */
export function redisStore<Client extends RedisClient>(
  options: RedisStoreOptions<Client>,
): RedisStore<RedisTx<Client>> {
  checkOptions('redisStore', options, optionChecks)
  requireOptions('redisStore', options, ['client'])

  const { client, prefix = redisDefaults.prefix } = options
  const place = { keyspace: redisKeyspace(prefix), channel: wakeChannel(prefix), driver: driverOf(client) }
  const { driver, keyspace, channel } = place
  const run: RunScript = (script, values) => driver.run(script, keyspace, values)
  const wakeUps = redisWakeUps(driver, run, channel)

  const store: RedisStore<object> = {
    capabilities: { durable: true, multiProcess: true },

    migrate: () => migrate(run, prefix),
    checkSchema: () => checkSchema(run, prefix),
    doctor: () => examine(driver, run, prefix),

    async transaction(work, { within } = {}) {
      if (within !== undefined) return (transactionOf(within) ?? noTransaction()).nested(work)

      let multi: object | undefined
      const transaction = new RecordedTransaction(() => (multi ??= driver.multi()))
      const result = await transaction.run(work)
      await commitTransaction(place, transaction, () => multi ?? driver.multi())
      return result
    },

    refusedCommit: isServersWord,
    refusedWrite: isReadOnly,
    inTransaction: (tx) => transactionOf(tx)?.isOpen ?? driver.isOpenMulti(tx),
    insert: (request) => insertRows(place, request),

    claim: (request) => claimRows(run, request),
    claimTypes: (request) => claimRowsOfTypes(run, request),
    renew: ({ rows, lease }) => renewRows(run, rows, lease),
    release: (rows) => releaseRows(run, rows),
    settle: ({ settlements, owner }) => settleRows(run, settlements, owner),

    locks: redisLocks(run),
    pollPending: (request) => pollPending(run, request),

    people: redisPeople(run),
    looks: redisLooks(run, prefix),
    actions: redisActions(run, place),
    controls: redisControls(run),
    routing: redisRouting(run),
    nodes: redisNodes(run),
    reports: redisReports(run),
    wakeUps,
    purge: (request) => purgeRows(run, request),

    ping: async () => void (await run(pingScript, [])),
    dropSilent: (silentMs) => driver.dropSilent(silentMs),

    async close() {
      await wakeUps.close()
      await driver.close()
    },
  }
  return store as unknown as RedisStore<RedisTx<Client>>
}
