/**
 * Two databases in one process, each with an outbox of its own: `npm run example:two-databases`. The shop takes
 * orders. Its listener reserves stock in the database of the warehouse, which writes events of its own. The
 * first delivery of every third order fails after the reservation is committed, and comes again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineEvent, fixedDelay, Outbox, OutboxError } from 'sendoff'
import { Inbox } from 'sendoff/inbox'
import { sqliteStore } from 'sendoff/sqlite'

const orderCount = 12

interface Order {
  readonly id: string
  readonly item: string
}

const OrderPlaced = defineEvent<Order>('OrderPlaced')
const StockReserved = defineEvent<Order>('StockReserved')

const folder = await mkdtemp(join(tmpdir(), 'sendoff-two-databases-'))
const shop = openOutbox('shop', 'create table orders (id text primary key, item text)')
const warehouse = openOutbox('warehouse', 'create table reservations (order_id text, item text)')
// It marks an event of the shop in the transaction of the warehouse: a second delivery reserves nothing.
const inbox = new Inbox({ outbox: warehouse, consumer: 'reservations' })

let deliveries = 0
shop.on(OrderPlaced, async (event, { attempt }) => {
  deliveries += 1
  const order = event.payload
  await inbox.process(event, async (tx) => {
    tx.prepare('insert into reservations values (?, ?)').run(order.id, order.item)
    await warehouse.write(StockReserved, order)
  })
  const number = Number(order.id.slice(2))
  if (number % 3 === 0 && attempt === 1) throw new Error('The connection broke after the commit.')
})
let announced = 0
warehouse.on(StockReserved, () => void (announced += 1))
await shop.start()
await warehouse.start()

for (let number = 1; number <= orderCount; number += 1) {
  const order = { id: `o-${number}`, item: 'tea' }
  await shop.transaction(async (tx) => {
    tx.prepare('insert into orders values (?, ?)').run(order.id, order.item)
    await shop.write(OrderPlaced, order)
  })
}

// A transaction of the shop is none of the warehouse: such a write is refused, and the order undone with it.
const refused = await shop
  .transaction(async (tx) => {
    tx.prepare('insert into orders values (?, ?)').run('o-99', 'tea')
    await warehouse.write(StockReserved, { id: 'o-99', item: 'tea' })
  })
  .catch((error: unknown) => (error instanceof OutboxError ? error.code : error))

while (deliveries < orderCount + orderCount / 3) await shop.drain()
await warehouse.drain()
const orders = rowsOf('shop', 'orders')
const reservations = rowsOf('warehouse', 'reservations')
await shop.close()
await warehouse.close()
await rm(folder, { recursive: true, force: true })
console.log(
  `orders=${orders} deliveries=${deliveries} reservations=${reservations} announced=${announced} refused=${refused}`,
)

/** Returns an outbox on a database file of its own, with a table of business data. */
function openOutbox(name: string, table: string): Outbox<DatabaseSync> {
  const file = join(folder, `${name}.db`)
  new DatabaseSync(file).exec(table)
  return Outbox.multiNode({
    store: sqliteStore({ open: () => new DatabaseSync(file) }),
    retryPolicy: fixedDelay(20),
    logger: false,
  })
}

function rowsOf(name: string, table: string): unknown {
  const database = new DatabaseSync(join(folder, `${name}.db`))
  return database.prepare(`select count(*) as count from ${table}`).get()!['count']
}
