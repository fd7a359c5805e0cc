import { Outbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import { type Elapsed, startWatch } from '../statistics.ts'
import type { BenchDatabase, Conditions, Measurement, OpenDatabase, Subject } from '../store-bench.ts'
import { sendoffOutbox } from './sendoff-outbox.ts'

export const eventsPerBulkWrite = 1_000

/** How fast business rows and their events are committed. */
export function writeSubjects<Tx>(openDatabase: OpenDatabase<Tx>): readonly Subject[] {
  const subject = (
    name: string,
    makeOutbox: (database: BenchDatabase<Tx>, conditions: Conditions) => Outbox<Tx>,
  ): Subject => ({
    name,
    async measure(conditions) {
      const database = await openDatabase('write', conditions)
      await using outbox = await makeOutbox(database, conditions).start()

      // Awaited here: the outbox closes when this returns.
      return await measureWrites(conditions, {
        single: (number) =>
          outbox.transaction(async (tx) => {
            await database.insertOrder(tx, number)
            await outbox.write(OrderPlaced, payloadOf(number))
          }),
        bulk: (first) =>
          outbox.transaction(async (tx) => {
            await database.insertOrder(tx, first)
            await outbox.writeAll(
              Array.from({ length: eventsPerBulkWrite }, (_, index) =>
                OrderPlaced.of(payloadOf(first + index)),
              ),
            )
          }),
      })
    },
  })

  return [
    subject('sendoff-writer-only', (database) => Outbox.writerOnly({ store: database.openStore() })),
    subject('sendoff-single-node', (database, conditions) =>
      sendoffOutbox('singleNode', database.openStore(), async () => {}, conditions),
    ),
    subject('sendoff-multi-node', (database, conditions) =>
      sendoffOutbox('multiNode', database.openStore(), async () => {}, conditions),
    ),
  ]
}

export interface Writes {
  /** Commits one order with its event. */
  single(number: number): unknown
  /** Commits one order with `eventsPerBulkWrite` events, numbered from `first` on. */
  bulk(first: number): unknown
}

/** Runs both kinds of writes one after the other, as often as the time allows. */
export async function measureWrites({ seconds }: Conditions, writes: Writes): Promise<Measurement> {
  let number = 0
  const single = () => writes.single(number++)
  const bulk = () => {
    const first = number
    number += eventsPerBulkWrite
    return writes.bulk(first)
  }

  await repeated(single, seconds / 4)
  const one = await repeated(single, seconds)
  await repeated(bulk, seconds / 4)
  const many = await repeated(bulk, seconds)
  return {
    transactionsPerSecond: one.calls / (one.ms / 1_000),
    cpuUsPerTransaction: one.cpuUs / one.calls,
    bulkEventsPerSecond: (many.calls * eventsPerBulkWrite) / (many.ms / 1_000),
  }
}

async function repeated(call: () => unknown, seconds: number): Promise<Elapsed & { readonly calls: number }> {
  const endAt = performance.now() + seconds * 1_000
  const stop = startWatch()
  let calls = 0

  do {
    await call()
    calls++
  } while (performance.now() < endAt)
  return { ...stop(), calls }
}
