import {
  type BatchEventListener,
  type EventEnvelope,
  ListenerRegistry,
  type ListenerFunction,
  Outbox,
  type OutboxOptions,
} from 'sendoff'
import type { OutboxStore } from 'sendoff/store'
import { type OrderPayload, OrderPlaced } from '../bench-event.ts'
import type { BenchDatabases, Conditions, OnEvent, StartWorker } from '../store-bench.ts'

export type Mode = 'singleNode' | 'multiNode' | 'partitioned'

export type OutboxChoices = Pick<
  OutboxOptions<never, never>,
  'deleteCompleted' | 'metrics' | 'purge' | 'tracing'
>

/** Starts an outbox as users would set it up: with its defaults, and one listener. */
export function sendoffOutbox<Tx>(
  mode: Mode,
  store: OutboxStore<Tx>,
  listener: ListenerFunction<OrderPayload> | BatchEventListener,
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

/** Returns a listener that reports the events it gets. */
export type ListenerOf = (onEvent: OnEvent) => ListenerFunction<OrderPayload> | BatchEventListener

/** A listener that gets several events in one call. */
export const batchListener: ListenerOf = (onEvent) => ({
  async onEvents(events: readonly EventEnvelope[]) {
    for (const event of events) onEvent(event as EventEnvelope<OrderPayload>)
  },
})

/** Returns a worker that delivers with an outbox of its own. */
export function sendoffWorker<Tx>(
  databases: BenchDatabases<Tx>,
  mode: Mode,
  choices: OutboxChoices = {},
  listenerOf: ListenerOf = (onEvent) => async (event) => onEvent(event),
): StartWorker {
  return async (name, conditions, onEvent) => {
    const database = await databases.open(name, conditions)
    const listener = listenerOf(onEvent)
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
