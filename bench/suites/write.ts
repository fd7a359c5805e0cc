import { Outbox } from 'sendoff'
import { aggregateType, eventOf, eventType, orderIdOf, payloadOf } from '../bench-event.ts'
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

      return measureWrites(conditions, {
        single: (number) =>
          outbox.transaction(async (tx) => {
            await database.insertOrder(tx, number)
            await outbox.write(eventType, payloadOf(number), {
              aggregateType,
              aggregateId: orderIdOf(number),
            })
          }),
        bulk: (first) =>
          outbox.transaction(async (tx) => {
            await database.insertOrder(tx, first)
            await outbox.writeAll(
              Array.from({ length: eventsPerBulkWrite }, (_, index) => eventOf(first + index)),
            )
          }),
      })
    },
  })

  return [
    subject('sendoff-writer-only', ({ openStore }) => Outbox.writerOnly({ store: openStore() })),
    subject('sendoff-single-node', ({ openStore }, conditions) =>
      sendoffOutbox('singleNode', openStore(), async () => {}, conditions),
    ),
    subject('sendoff-multi-node', ({ openStore }, conditions) =>
      sendoffOutbox('multiNode', openStore(), async () => {}, conditions),
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

  await callsPerSecond(single, seconds / 4)
  const transactionsPerSecond = await callsPerSecond(single, seconds)
  await callsPerSecond(bulk, seconds / 4)
  const bulkEventsPerSecond = eventsPerBulkWrite * (await callsPerSecond(bulk, seconds))
  return { transactionsPerSecond, bulkEventsPerSecond }
}

async function callsPerSecond(call: () => unknown, seconds: number): Promise<number> {
  const startedAt = performance.now()
  const endAt = startedAt + seconds * 1_000
  let calls = 0

  do {
    await call()
    calls++
  } while (performance.now() < endAt)
  return calls / ((performance.now() - startedAt) / 1_000)
}
