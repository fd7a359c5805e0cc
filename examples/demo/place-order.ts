import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { EventWriter } from 'sendoff'
import { OrderPlaced } from './order-placed.ts'

/** How an order arrives: `web` through the order service, `phone` through the worker's own process. */
export type Channel = 'web' | 'phone'

export class PaymentDeclined extends Error {
  override readonly name = 'PaymentDeclined'
}

/** Stores an order and its event in one transaction: both are kept, or neither is. */
export async function placeOrder(
  outbox: EventWriter<DatabaseSync>,
  channel: Channel,
  payment: 'accepted' | 'declined' = 'accepted',
): Promise<void> {
  const order = { orderId: randomUUID(), total: 1 + Math.floor(Math.random() * 200) }

  await outbox.transaction(async (tx) => {
    tx.prepare('insert into orders (id, channel, total, placed_at) values (?, ?, ?, ?)').run(
      order.orderId,
      channel,
      order.total,
      Date.now(),
    )
    await outbox.write(OrderPlaced, order)

    // The transaction is rolled back, and the event never existed.
    if (payment === 'declined') throw new PaymentDeclined(`The payment of ${order.orderId} was declined.`)
  })
}
