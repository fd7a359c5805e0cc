import { Outbox } from 'sendoff'
import { OrderPlaced, payloadOf } from '../bench-event.ts'
import { type Elapsed, startWatch } from '../statistics.ts'
import type { BenchDatabase, Conditions, Measurement, OpenDatabase, Subject } from '../store-bench.ts'
import { type Mode, sendoffOutbox } from './sendoff-outbox.ts'

const warmUpEvents = 20_000
const eventsPerWrite = 1_000

/** How fast Sendoff delivers a backlog, by mode. */
export function drainSubjects<Tx>(openDatabase: OpenDatabase<Tx>): readonly Subject[] {
  const subject = (name: string, ownLimit: string, mode: Mode, options = {}): Subject => ({
    name,
    ownLimit,
    measure: (conditions) =>
      measureDrain(openDatabase, conditions, async (database, count) => {
        let delivered = 0
        const all = Promise.withResolvers<void>()
        const listener = async () => {
          if (++delivered === count) all.resolve()
        }
        await using outbox = sendoffOutbox(mode, database.openStore(), listener, conditions, options)

        const stop = startWatch()
        await outbox.start()
        await all.promise
        // The last settlements count as well.
        await outbox.drain()
        const time = stop()

        if (delivered !== count) throw new Error(`${delivered} deliveries of ${count} events.`)
        return time
      }),
  })

  return [
    subject('sendoff-single-node', 'limit-owner-update', 'singleNode'),
    subject('sendoff-multi-node', 'limit-claim-update', 'multiNode'),
    subject('sendoff-multi-node-delete', 'limit-claim-delete', 'multiNode', { deleteCompleted: true }),
  ]
}

/** Fills a database with waiting events and has `drain` empty it, which answers the time that it took. */
export async function measureDrain<Database extends BenchDatabase<any>>(
  openDatabase: (name: string, conditions: Conditions) => Promise<Database>,
  conditions: Conditions,
  drain: (database: Database, count: number) => Promise<Elapsed>,
): Promise<Measurement> {
  const run = async (name: string, count: number): Promise<Elapsed> => {
    const database = await openDatabase(name, conditions)
    await fill(database, count)
    const time = await drain(database, count)
    await assertEmpty(database)
    return time
  }

  await run('warm-up', Math.min(warmUpEvents, conditions.events))
  const { ms, cpuUs } = await run('drain', conditions.events)
  return {
    eventsPerSecond: conditions.events / (ms / 1_000),
    cpuUsPerEvent: cpuUs / conditions.events,
  }
}

async function fill(database: BenchDatabase<any>, count: number): Promise<void> {
  await using outbox = await Outbox.writerOnly({ store: database.openStore() }).start()

  for (let written = 0; written < count; written += eventsPerWrite) {
    const length = Math.min(eventsPerWrite, count - written)
    await outbox.transaction(() =>
      outbox.writeAll(Array.from({ length }, (_, index) => OrderPlaced.of(payloadOf(written + index)))),
    )
  }
}

// A subject that leaves events behind would look fast.
async function assertEmpty(database: BenchDatabase<any>): Promise<void> {
  const store = database.openStore()
  const left = await store.count({ status: [0, 2, 3] })
  await store.close()
  if (left > 0) throw new Error(`${left} events were left behind.`)
}
