import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { defineEvent, Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { drizzleTransactions } from 'sendoff/transactions/drizzle'

const orders = pgTable('orders', { id: text().primaryKey(), total: integer().notNull() })
const shipments = pgTable('shipments', { orderId: text('order_id').primaryKey() })

/** The connections of this process. The server ends them after the outbox. */
export const pool = new Pool({ connectionString: process.env.DATABASE_URL })
const db = drizzle(pool)

/** A transaction of Drizzle. */
export type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0]

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

/** The outbox of the shop. The server starts it, and closes it at the end. */
export const outbox = Outbox.multiNode({
  store: postgresStore({ client: pool }),
  transactions: drizzleTransactions(db),
})

outbox.on(OrderPlaced, async ({ payload: { id } }) => {
  // An event may come twice, after a crash: the second delivery changes nothing.
  await db.insert(shipments).values({ orderId: id }).onConflictDoNothing()
  console.log(`Order ${id} is shipped.`)
})

/** Makes the tables. In your project, Drizzle's migrations do. */
export async function makeTables(): Promise<void> {
  await db.execute(sql`create table if not exists orders (id text primary key, total integer not null)`)
  await db.execute(sql`create table if not exists shipments (order_id text primary key)`)
}

/** Places an order in the transaction `tx`, which the server has opened. */
export async function placeOrder(tx: Tx, { id, total }: Order): Promise<void> {
  const added = await tx.insert(orders).values({ id, total }).onConflictDoNothing().returning()
  if (added.length === 0) throw new OrderRefused(`Order ${id} exists already.`)

  await outbox.write(OrderPlaced, { id, total })

  // The event is written. The rollback of a refused order removes both.
  if (total > 1_000) throw new OrderRefused(`No customer has a credit of ${total}.`)
}

/** Returns the order in the body of a request. */
export function orderOf(body: unknown): Order {
  const { id, total } = (body ?? {}) as Partial<Order>
  if (typeof id === 'string' && Number.isInteger(total)) return { id, total: total! }
  throw new OrderRefused('An order has an id and a total.')
}
