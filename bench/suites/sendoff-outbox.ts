import { ListenerRegistry, type ListenerFunction, Outbox, type OutboxStore } from 'sendoff'
import { type OrderPayload, OrderPlaced } from '../bench-event.ts'
import type { Conditions } from '../store-bench.ts'

export type Mode = 'singleNode' | 'multiNode'

/** An outbox as users would set it up: with its defaults, and one listener. */
export function sendoffOutbox<Tx>(
  mode: Mode,
  store: OutboxStore<Tx>,
  listener: ListenerFunction<OrderPayload>,
  { workers }: Conditions,
  options: { readonly deleteCompleted?: boolean } = {},
): Outbox<Tx> {
  return Outbox[mode]({
    store,
    listeners: new ListenerRegistry().register(OrderPlaced, listener),
    logger: false,
    ...(workers === undefined ? {} : { workerCount: workers }),
    ...options,
  })
}
