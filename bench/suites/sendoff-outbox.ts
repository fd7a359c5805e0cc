import { ListenerRegistry, type ListenerFunction, Outbox, type OutboxOptions } from 'sendoff'
import type { OutboxStore } from 'sendoff/store'
import { type OrderPayload, OrderPlaced } from '../bench-event.ts'
import type { BenchDatabases, Conditions, StartWorker } from '../store-bench.ts'

export type Mode = 'singleNode' | 'multiNode' | 'partitioned'

export type OutboxChoices = Pick<OutboxOptions<never, never>, 'deleteCompleted' | 'metrics' | 'tracing'>

/** Starts an outbox as users would set it up: with its defaults, and one listener. */
export function sendoffOutbox<Tx>(
  mode: Mode,
  store: OutboxStore<Tx>,
  listener: ListenerFunction<OrderPayload>,
  { workers }: Conditions,
  choices: OutboxChoices = {},
): Outbox<Tx> {
  return Outbox[mode]({
    store,
    listeners: new ListenerRegistry().register(OrderPlaced, listener),
    logger: false,
    ...(workers === undefined ? {} : { workerCount: workers }),
    ...choices,
  })
}

/** Returns a worker that delivers with an outbox of its own. */
export function sendoffWorker<Tx>(
  databases: BenchDatabases<Tx>,
  mode: Mode,
  choices: OutboxChoices = {},
): StartWorker {
  return async (name, conditions, onEvent) => {
    const database = await databases.open(name, conditions)
    const listener: ListenerFunction<OrderPayload> = async (event) => onEvent(event)
    const outbox = await sendoffOutbox(mode, database.openStore(), listener, conditions, choices).start()
    return {
      settled: () => outbox.drain(),
      async stop() {
        await outbox.close()
        await database.close()
      },
    }
  }
}
