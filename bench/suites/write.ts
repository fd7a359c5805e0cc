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
    measure: (conditions) =>
      measureWrites(conditions, async (name, within) => {
        const database = await openDatabase(name, within)
        const outbox = await makeOutbox(database, within).start()

        return {
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
          close: () => outbox.close(),
        }
      }),
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
  close(): unknown
}

/** Runs both kinds of writes one after the other, as often as the time allows. */
export async function measureWrites(
  conditions: Conditions,
  openWrites: (name: string, conditions: Conditions) => Promise<Writes>,
): Promise<Measurement> {
  const { seconds } = conditions

  // By number and not by time: with a slow disk, code that has run too rarely to be compiled would
  // be measured. For the same reason without waiting for the disk.
  const warmUp = counted(await openWrites('warm-up', { ...conditions, synchronous: 'NORMAL' }))
  await repeated(warmUp.single, (calls) => calls < 1_500 * seconds)
  await repeated(warmUp.bulk, (calls) => calls < 5 * seconds)
  await warmUp.close()

  const writes = counted(await openWrites('write', conditions))
  const one = await repeated(writes.single, (_, ms) => ms < seconds * 1_000)
  const many = await repeated(writes.bulk, (_, ms) => ms < seconds * 1_000)
  await writes.close()
  return {
    transactionsPerSecond: one.calls / (one.ms / 1_000),
    cpuUsPerTransaction: one.cpuUs / one.calls,
    bulkEventsPerSecond: (many.calls * eventsPerBulkWrite) / (many.ms / 1_000),
  }
}

/** Numbers orders and events as they come. */
function counted(writes: Writes) {
  let next = 0
  return {
    single: () => writes.single(next++),
    bulk: () => writes.bulk((next += eventsPerBulkWrite) - eventsPerBulkWrite),
    close: () => writes.close(),
  }
}

async function repeated(
  call: () => unknown,
  goOn: (calls: number, ms: number) => boolean,
): Promise<Elapsed & { readonly calls: number }> {
  const stop = startWatch()
  const startedAt = performance.now()
  let calls = 0

  do {
    await call()
    calls++
  } while (goOn(calls, performance.now() - startedAt))
  return { ...stop(), calls }
}
