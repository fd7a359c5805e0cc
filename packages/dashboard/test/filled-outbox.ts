import { Outbox, type RoutingOptions, silentLogger } from 'sendoff'
import { outboxAdmin, type OutboxAdmin } from 'sendoff/admin'
import { memoryStore } from 'sendoff/memory'

/** What a memory store is filled with. */
export interface Filling {
  readonly dead?: number
  readonly waiting?: number
  readonly payload?: unknown
}

/** Returns an admin of a memory store in which `dead` events have failed, and `waiting` ones wait. */
export async function filledOutbox({ dead = 0, waiting = 0, payload = { total: 1 } }: Filling = {}): Promise<{
  readonly admin: OutboxAdmin<never>
  readonly store: ReturnType<typeof memoryStore>
}> {
  const store = memoryStore()
  const outbox = Outbox.multiNode({ store, maxAttempts: 1, logger: silentLogger })
  outbox.on('OrderPlaced', () => {
    throw Object.assign(new Error('carrier did not answer'), { name: 'TimeoutError' })
  })
  await outbox.start()
  for (let count = 0; count < dead; count++)
    await outbox.transaction(() => outbox.write('OrderPlaced', payload))
  await outbox.drain()
  await outbox.close()
  const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
  for (let count = 0; count < waiting; count++)
    await writer.transaction(() => writer.write('OrderPaid', payload))
  await writer.close()
  return { admin: outboxAdmin({ store }) as unknown as OutboxAdmin<never>, store }
}

/** A routing to three destinations. */
export const threeWays: RoutingOptions = {
  version: 1,
  destinations: { kafka: {}, mail: { maxAttempts: 1 }, partners: { maxAttempts: 1 } },
  rules: [{ to: ['kafka', 'mail', 'partners'] }],
}
