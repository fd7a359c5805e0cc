import { DatabaseSync } from 'node:sqlite'
import { defineEvent, Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'

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

const file = process.env.SHOP_DATABASE ?? 'shop.db'
const database = new DatabaseSync(file)
database.exec(`
  create table if not exists orders (id text primary key, total real not null);
  create table if not exists account (balance real not null);
  insert into account select 1000 where not exists (select * from account)`)
database.close()

/** Stands for the service of a carrier: another system, with data of its own. */
const carrier = new DatabaseSync(process.env.CARRIER_DATABASE ?? 'carrier.db')
carrier.exec('create table if not exists shipments (order_id text primary key)')

/** The outbox of the shop. The server starts it, and closes it at the end. */
export const outbox = Outbox.multiNode({ store: sqliteStore({ open: () => new DatabaseSync(file) }) })

outbox.on(OrderPlaced, ({ payload: { id } }) => {
  // An event may come twice, after a crash: the second delivery changes nothing.
  carrier.prepare('insert or ignore into shipments values (?)').run(id)
  console.log(`Order ${id} is shipped.`)
})

/** Places an order in the transaction `tx`, which the server has opened. */
export async function placeOrder(tx: DatabaseSync, { id, total }: Order): Promise<void> {
  const added = tx.prepare('insert or ignore into orders values (?, ?)').run(id, total)
  if (added.changes === 0) throw new OrderRefused(`Order ${id} exists already.`)

  await outbox.write(OrderPlaced, { id, total })

  // The event is written. If the account does not cover the order, the rollback removes both.
  const paid = tx.prepare('update account set balance = balance - ?1 where balance >= ?1').run(total)
  if (paid.changes === 0) throw new OrderRefused(`The account does not cover ${total}.`)
}

/** Returns the order in the body of a request. */
export function orderOf(body: unknown): Order {
  const { id, total } = (body ?? {}) as Partial<Order>
  if (typeof id !== 'string' || typeof total !== 'number')
    throw new OrderRefused('An order has an id and a total.')
  return { id, total }
}
