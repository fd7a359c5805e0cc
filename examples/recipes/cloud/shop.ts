import pg from 'pg'
import { defineEvent, type EventEnvelope, type EventWriter } from 'sendoff'

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

/** The connections of this process. */
export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 5 })

/** Places an order and writes its event, or neither. */
export async function placeOrder(events: EventWriter<pg.PoolClient>, { id, total }: Order): Promise<void> {
  await events.transaction(async (tx) => {
    const added = await tx.query('insert into orders values ($1, $2) on conflict do nothing', [id, total])
    if (added.rowCount === 0) throw new OrderRefused(`Order ${id} exists already.`)

    await events.write(OrderPlaced, { id, total })

    // The event is written. If the account does not cover the order, the rollback removes both.
    const paid = await tx.query('update account set balance = balance - $1 where balance >= $1', [total])
    if (paid.rowCount === 0) throw new OrderRefused(`The account does not cover ${total}.`)
  })
}

/** Ships an order. An event may come twice, after a crash: the second delivery changes nothing. */
export async function ship({ payload: { id } }: EventEnvelope<Order>): Promise<void> {
  await pool.query('insert into shipments values ($1) on conflict do nothing', [id])
  console.log(`Order ${id} is shipped.`)
}

/** Returns the order in the body of a request. */
export function orderOf(body: unknown): Order {
  const { id, total } = (body ?? {}) as Partial<Order>
  if (typeof id === 'string' && typeof total === 'number') return { id, total }
  throw new OrderRefused('An order has an id and a total.')
}
