import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { OutboxStore } from 'sendoff/store'
import { redisStore } from 'sendoff/redis'
import { orderIdOf } from '../../bench-event.ts'
import type { BenchDatabase, BenchDatabases, Conditions } from '../../store-bench.ts'
import { commandCount, prefixOf, removeDatabases, serverCpuUs } from './redis-server.ts'

export const drivers = ['ioredis', 'redis'] as const

/** The part of both clients' MULTI that an order uses. */
interface OrderTx {
  hset?(key: string, field: string, value: string): unknown
  hSet?(key: string, field: string, value: string): unknown
}

/**
 * Outboxes under prefixes of their own, on the Redis that was started for the run, or that `REDIS_URL` names.
 */
export const redisDatabases: BenchDatabases<OrderTx> = {
  async create(name, conditions) {
    await removeDatabases(conditions)
    return redisDatabase(name, conditions)
  },

  open: redisDatabase,
  serverCpuUs,
}

async function redisDatabase(name: string, conditions: Conditions): Promise<BenchDatabase<OrderTx>> {
  const prefix = prefixOf(name, conditions)
  const { openStore, close } = await openClient(prefix, conditions)
  return {
    openStore,
    insertOrder(tx, number) {
      const order: [string, string, string] = [
        `{${prefix}}:orders`,
        orderIdOf(number),
        'cus_8f2b1c9e7d 129.95',
      ]
      if (tx.hset === undefined) tx.hSet!(...order)
      else tx.hset(...order)
    },
    counts: async () => ({ statementsPerSecond: await commandCount() }),
    close,
  }
}

interface OpenClient {
  readonly openStore: (table?: string) => OutboxStore<OrderTx>
  readonly close: () => Promise<void>
}

async function openClient(prefix: string, { driver }: Conditions): Promise<OpenClient> {
  const url = process.env['REDIS_URL']!
  if (driver === 'redis') {
    const client = await createClient({ url }).connect()
    return {
      openStore: (table = '') => redisStore({ client, prefix: `${prefix}${table}` }),
      close: () => client.close(),
    }
  }
  const client = new Redis(url)
  return {
    openStore: (table = '') => redisStore({ client, prefix: `${prefix}${table}` }),
    close: async () => void (await client.quit()),
  }
}
