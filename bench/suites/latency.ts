import { setTimeout as sleep } from 'node:timers/promises'
import type { EventEnvelope } from 'sendoff'
import { type OrderPayload, OrderPlaced, payloadOf } from '../bench-event.ts'
import { percentile } from '../statistics.ts'
import type { OpenDatabase, Subject } from '../store-bench.ts'
import { type Mode, sendoffOutbox } from './sendoff-outbox.ts'

const eventsPerSecond = 200
const warmUpEvents = 100

/** The time from an acknowledged commit to the first line of the listener, in one process. */
export function latencySubjects<Tx>(openDatabase: OpenDatabase<Tx>): readonly Subject[] {
  const subject = (name: string, mode: Mode): Subject => ({
    name,
    async measure(conditions) {
      const count = warmUpEvents + Math.ceil(eventsPerSecond * conditions.seconds)
      const committedAt: number[] = []
      const startedAt: number[] = []
      let delivered = 0
      const all = Promise.withResolvers<void>()
      const listener = async (event: EventEnvelope<OrderPayload>) => {
        const now = performance.now()
        startedAt[event.payload.i] = now
        if (++delivered === count) all.resolve()
      }
      const database = await openDatabase('latency', conditions)
      await using outbox = await sendoffOutbox(mode, database.openStore(), listener, conditions).start()

      const beganAt = performance.now()
      for (let number = 0; number < count; number++) {
        await sleep(Math.max(0, beganAt + (number * 1_000) / eventsPerSecond - performance.now()))
        await outbox.transaction(async (tx) => {
          // Before the write, whose own callback hands the event over.
          outbox.txContext.afterCommit(() => (committedAt[number] = performance.now()))
          await database.insertOrder(tx, number)
          await outbox.write(OrderPlaced, payloadOf(number))
        })
      }
      await all.promise

      const latencies = startedAt.map((time, number) => time - committedAt[number]!).slice(warmUpEvents)
      return { latencyP50Ms: percentile(latencies, 0.5), latencyP99Ms: percentile(latencies, 0.99) }
    },
  })

  return [subject('sendoff-single-node', 'singleNode'), subject('sendoff-multi-node', 'multiNode')]
}
