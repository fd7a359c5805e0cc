import { Outbox } from 'sendoff'
import { Inbox } from 'sendoff/inbox'
import { orderIdOf } from '../bench-event.ts'
import { percentile } from '../statistics.ts'
import type { BenchDatabases, Conditions, Subject, Suite } from '../store-bench.ts'
import { measureWrites, type WriteChoices } from './write.ts'

/** What a store does beside what every suite needs. */
export interface InboxTables {
  /** The same transaction, written by hand. */
  readonly limit: Subject
  /** How many marks stand beside those that a purge deletes, at full size. */
  readonly marks: number
  /** Adds marks of the consumer that were made this many hours ago. */
  readonly addMarks: (database: string, marks: number, hours: number, conditions: Conditions) => Promise<void>
}

/** The consumer of all measurements. */
export const benchConsumer = 'billing'

const hoursKept = 24
const oldMarks = 100_000
const batchSize = 500

/** Measures messages that are marked and processed, and the purge of marks in tables of two sizes. */
export function inboxSuite<Tx>(
  databases: BenchDatabases<Tx>,
  { limit, marks, addMarks }: InboxTables,
  choices: WriteChoices = {},
): Suite {
  const processing: Subject = {
    name: 'sendoff-inbox',
    measure: (conditions) =>
      measureWrites(conditions, choices, async (name, within) => {
        const database = await databases.create(name, within)
        const outbox = await Outbox.writerOnly({ store: database.openStore() }).start()
        const inbox = new Inbox({ outbox, consumer: benchConsumer, purge: false })
        return {
          single: (number) => inbox.process(orderIdOf(number), (tx) => database.insertOrder(tx, number)),
          async close() {
            await outbox.close()
            await database.close()
          },
        }
      }),
  }
  const purging = (name: string, standing: number): Subject => ({
    name,
    async measure(conditions) {
      const { scale } = conditions
      const database = await databases.create('inbox', conditions)
      await addMarks('inbox', Math.ceil(oldMarks * scale), hoursKept * 2, conditions)
      if (standing > 0) await addMarks('inbox', Math.ceil(standing * scale), 1, conditions)
      await database.tidy?.()
      const store = database.openStore()
      const durations: number[] = []
      let cursor: string | undefined
      do {
        const startedAt = performance.now()
        const batch = await store.inbox!.purge({
          consumer: benchConsumer,
          olderThanMs: hoursKept * 3_600_000,
          limit: batchSize,
          cursor,
        })
        durations.push(performance.now() - startedAt)
        cursor = batch.cursor
      } while (cursor !== undefined)
      await store.close()
      await database.close()
      return { p95Ms: percentile(durations, 0.95) }
    },
  })
  return {
    subjects: [processing, limit, purging('purge', 0), purging(`purge-${marks / 1_000_000}m`, marks)],
    limit: limit.name,
  }
}
