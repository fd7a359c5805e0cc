import pg from 'pg'
import { defineEvent, Outbox, type WriterOutbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'

/** An order, as a customer sends it. */
export interface Order {
  readonly id: string
  readonly total: number
}

/** Thrown if a customer cannot have the order. */
export class OrderRefused extends Error {}

/** Written in the transaction that adds the order. */
export const OrderPlaced = defineEvent<Order>('OrderPlaced', {
  aggregateType: 'Order',
  aggregateId: ({ id }) => id,
})

// Next loads this file several times: for each bundle, and after each change in development.
const shared = globalThis as { shopOutbox?: Promise<WriterOutbox<pg.PoolClient>> }

/** Returns the outbox of this process, which only writes. `next build` loads this file, too, without a database. */
function shopOutbox(): Promise<WriterOutbox<pg.PoolClient>> {
  shared.shopOutbox ??= Outbox.writerOnly({
    store: postgresStore({ client: new pg.Pool({ connectionString: process.env.DATABASE_URL }) }),
  }).start()
  return shared.shopOutbox
}

/** Places an order and writes its event, or neither. */
export async function placeOrder({ id, total }: Order): Promise<void> {
  const outbox = await shopOutbox()
  await outbox.transaction(async (tx) => {
    const added = await tx.query('insert into orders values ($1, $2) on conflict do nothing', [id, total])
    if (added.rowCount === 0) throw new OrderRefused(`Order ${id} exists already.`)

    await outbox.write(OrderPlaced, { id, total })

    // The event is written. If the account does not cover the order, the rollback removes both.
    const paid = await tx.query('update account set balance = balance - $1 where balance >= $1', [total])
    if (paid.rowCount === 0) throw new OrderRefused(`The account does not cover ${total}.`)
  })
}
