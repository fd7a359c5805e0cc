import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { OrderPlaced, pool, ship } from './shop.ts'

/** Delivers every event that is due, and ends. For a function that a timer calls. */
export async function handler(): Promise<void> {
  const outbox = Outbox.multiNode({ store: postgresStore({ client: pool }), migrate: false })
  outbox.on(OrderPlaced, ship)
  await outbox.start()
  try {
    await outbox.drain()
  } finally {
    await outbox.close()
  }
}
