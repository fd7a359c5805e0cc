import { type EventToWrite, Outbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import type { BenchDatabase, BenchDatabases, Subject } from '../store-bench.ts'
import { type Backlog, drainSubject, sendoffBacklog } from './drain.ts'
import { batchListener, sendoffWorker } from './sendoff-outbox.ts'

const manyKeys = 1_000

/** A single key waits for the store after each of its events. */
const maxOfOneKey = 5_000

const blockedKeys = ['blocked-1', 'blocked-2']
const eventsPerWrite = 1_000

/** Their type distinguishes them from the events that are delivered. */
const stuckType = 'OrderStuck'

/**
 * Measures how fast Sendoff delivers a backlog in the order of its keys, also if most of it waits for blocked
 * keys, or all of it has one key.
 */
export function orderedSubjects<Tx>(databases: BenchDatabases<Tx>): readonly Subject[] {
  const worker = sendoffWorker(databases, 'partitioned')
  const inBatches = sendoffWorker(databases, 'partitioned', {}, batchListener)
  const oneKey = { backlog: keyedBacklog(databases, { keys: 1 }), maxEvents: maxOfOneKey }
  return [
    drainSubject({ name: 'sendoff-partitioned', worker, backlog: keyedBacklog(databases) }),
    drainSubject({
      name: 'sendoff-partitioned-blocked',
      worker,
      backlog: keyedBacklog(databases, { withBlocked: true }),
    }),
    drainSubject({ name: 'sendoff-partitioned-one-key', worker, ...oneKey }),
    drainSubject({ name: 'sendoff-partitioned-one-key-batch', worker: inBatches, ...oneKey }),
  ]
}

interface KeyedBacklog {
  readonly keys?: number
  readonly withBlocked?: boolean
}

/**
 * Events of a thousand keys in turn. With `withBlocked`, twice as many events that wait for two blocked keys
 * come before them.
 */
function keyedBacklog<Tx>(
  databases: BenchDatabases<Tx>,
  { keys = manyKeys, withBlocked = false }: KeyedBacklog = {},
): Backlog {
  return {
    ...sendoffBacklog(databases),
    async fill(name, count, conditions) {
      const database = await databases.create(name, conditions)
      if (withBlocked) await writeStuck(database, count)
      await writeKeyed(database, count, keys)
      await database.tidy?.()
      await database.close()
    },
  }
}

/**
 * Writes twice as many events as are to be delivered, behind the first one of each of two keys. An operator
 * would have to unblock these keys.
 */
async function writeStuck<Tx>(database: BenchDatabase<Tx>, count: number): Promise<void> {
  await writeAll(database, count * 2, (number) => ({
    type: { name: stuckType },
    payload: payloadOf(number),
    fields: { orderingKey: blockedKeys[number % blockedKeys.length]! },
  }))
  const store = database.openStore()
  const heads = await store.claim({ lease: { owner: 'bench', ms: 60_000 }, limit: blockedKeys.length })
  const failure = { error: 'Error: blocked', counted: true }
  await store.settle({ settlements: heads.map((row) => ({ row, outcome: { kind: 'block', failure } })) })
  await store.close()
}

function writeKeyed<Tx>(database: BenchDatabase<Tx>, count: number, keys: number): Promise<void> {
  return writeAll(database, count, (number) =>
    OrderPlaced.of(payloadOf(number), { orderingKey: `key-${number % keys}` }),
  )
}

async function writeAll<Tx>(
  database: BenchDatabase<Tx>,
  count: number,
  eventOf: (number: number) => EventToWrite,
): Promise<void> {
  const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
  for (let written = 0; written < count; written += eventsPerWrite) {
    const length = Math.min(eventsPerWrite, count - written)
    await outbox.transaction(() =>
      outbox.writeAll(Array.from({ length }, (_, index) => eventOf(written + index))),
    )
  }
  await outbox.close()
}
