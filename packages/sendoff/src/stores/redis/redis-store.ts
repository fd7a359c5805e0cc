import { OutboxError } from '../../errors.ts'
import type { OptionCheck } from '../../options.ts'
import { anything, checkOptions, requireOptions } from '../../options.ts'
import type { StoreWith } from '../../store/index.ts'
import { textOfWakeUp, wakeUpForLater } from '../wake-up-text.ts'
import { claimRows, claimRowsOfTypes, pollPending } from './claim-rows.ts'
import { commitTransaction, isServersWord } from './drivers/commit-transaction.ts'
import { driverOf } from './drivers/driver-of.ts'
import { releaseRows, renewRows } from './held-rows.ts'
import { insertCommands } from './insert-rows.ts'
import { purgeRows } from './purge-rows.ts'
import { countRows, failedAttempts, queryRows } from './query-rows.ts'
import { RecordedTransaction, transactionOf } from './drivers/recorded-transaction.ts'
import type { RedisClient, RedisTx } from './drivers/redis-client.ts'
import { redisControls } from './redis-controls.ts'
import { redisKeys, wakeChannel } from './redis-keys.ts'
import { redisLocks } from './redis-locks.ts'
import { redisNodes } from './redis-nodes.ts'
import { redisWakeUps } from './redis-wake-ups.ts'
import type { RunScript } from './drivers/run-script.ts'
import {
  announceScript,
  migrateScript,
  pingScript,
  replayScript,
  versionScript,
} from './scripts/upkeep-scripts.ts'
import { settingsThatLoseEvents } from './server-settings.ts'
import { settleRows } from './settle-rows.ts'

export interface RedisStoreOptions<Client extends RedisClient> {
  /** A client or a cluster of `ioredis` or of `redis`, connected. The store does not close it. */
  readonly client: Client
  /** `outbox` unless told otherwise. All keys start with it, in braces: it is their hash tag. */
  readonly prefix?: string
}

/** A store in Redis. It leaves out what keeps events in order: lanes, partitions and ordering keys. */
export type RedisStore<Tx> = StoreWith<Tx, 'people' | 'controls' | 'wakeUps' | 'purge'>

const optionChecks: Readonly<Record<keyof RedisStoreOptions<RedisClient>, OptionCheck>> = {
  client: anything,
  // It has a check of its own.
  prefix: anything,
}

const version = 1

/** The value of each option that is left out. */
export const redisDefaults = { prefix: 'outbox' }

/**
 * Keeps events in Redis, from version 6.2 on, alone or in a Cluster. Each state change is one script, and all times
 * are those of the server's clock.
 *
 * Transactions are a MULTI, sent when their code has ended: what became of a row is known only then.
 */
export function redisStore<Client extends RedisClient>(
  options: RedisStoreOptions<Client>,
): RedisStore<RedisTx<Client>> {
  checkOptions('redisStore', options, optionChecks)
  requireOptions('redisStore', options, ['client'])

  const { client, prefix = redisDefaults.prefix } = options
  const keys = redisKeys(prefix)
  const channel = wakeChannel(prefix)
  const driver = driverOf(client)
  const run: RunScript = (script, values) => driver.run(script, keys, values)
  const wakeUps = redisWakeUps(driver, run, channel)

  const store: RedisStore<object> = {
    capabilities: { durable: true, multiProcess: true },

    async migrate() {
      assertKnown(prefix, Number(await run(migrateScript, [String(version)])))
    },

    async checkSchema() {
      const stored = await run(versionScript, [])
      if (stored === null) throw notReady(prefix)
      assertKnown(prefix, Number(stored))
    },

    doctor: () => settingsThatLoseEvents(driver),

    async transaction(work, { within } = {}) {
      if (within !== undefined) return (transactionOf(within) ?? noTransaction()).nested(work)

      let multi: object | undefined
      const transaction = new RecordedTransaction(() => (multi ??= driver.multi()))
      const result = await transaction.run(work)
      await commitTransaction({ driver, keys, channel }, transaction, () => multi ?? driver.multi())
      return result
    },

    refusedCommit: isServersWord,

    inTransaction: (tx) => transactionOf(tx)?.isOpen ?? driver.isOpenMulti(tx),

    async insert({ tx, rows, lease, announce = false }) {
      const insert = { rows, lease, announce, results: undefined }
      const transaction = transactionOf(tx)
      if (transaction !== undefined) return transaction.record(insert)

      if (!driver.isOpenMulti(tx)) noTransaction()
      for (const { script, values } of insertCommands([insert], channel))
        driver.queue(tx, script, keys, values)
      const later = announce ? wakeUpForLater(rows, Date.now()) : undefined
      if (later !== undefined) driver.queue(tx, announceScript, keys, [channel, textOfWakeUp(later)])
      return rows.map(() => ({ kind: 'queued', result: () => undefined }))
    },

    claim: (request) => claimRows(run, request),

    claimTypes: (request) => claimRowsOfTypes(run, request),

    pollPending: (request) => pollPending(run, request),

    renew: ({ rows, lease }) => renewRows(run, rows, lease),

    release: (rows) => releaseRows(run, rows),

    settle: ({ settlements, owner }) => settleRows(run, settlements, owner),

    locks: redisLocks(run),

    people: {
      query: (filter) => queryRows(run, filter),

      count: (filter) => countRows(run, filter),

      attempts: (row) => failedAttempts(run, row),

      async replay(rows) {
        if (rows.length === 0) return 0
        const values = rows.flatMap(({ eventId, destination }) => [eventId, destination])
        return (await run(replayScript, values)) as number
      },
    },

    purge: (request) => purgeRows(run, request),

    controls: redisControls(run),

    nodes: redisNodes(run),

    wakeUps,

    ping: async () => void (await run(pingScript, [])),

    dropSilent: (silentMs) => driver.dropSilent(silentMs),

    async close() {
      await wakeUps.close()
      await driver.close()
    },
  }
  return store as unknown as RedisStore<RedisTx<Client>>
}

function assertKnown(prefix: string, stored: number): void {
  if (stored <= version) return
  throw new OutboxError(
    'OUTBOX_SCHEMA_TOO_NEW',
    `What is stored under "${prefix}" has version ${stored}, but this version of sendoff knows only ${version}. ` +
      'Deploy the newer version of sendoff here as well.',
  )
}

function notReady(prefix: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEMA_NOT_READY',
    `Nothing of an outbox is stored under "${prefix}" yet. Call await store.migrate(), then start again; or leave the option ` +
      '"migrate: false" out. If it has been there before, the server has lost its data.',
  )
}

function noTransaction(): never {
  throw new OutboxError(
    'OUTBOX_NO_TRANSACTION',
    'A Redis store writes in its own transactions, or in a MULTI of its client that has not been sent. ' +
      'Pass the tx that transaction() hands out, or what client.multi() answers.',
  )
}
