/**
 * Two services, each with a database of its own: `node examples/inbox/inbox.ts`. A shop writes orders and their
 * events in one transaction. Its outbox sends them to a queue, which delivers some messages twice. Two
 * consumers of billing read the queue, crash now and then before they acknowledge, and issue each invoice
 * once.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { defineEvent, Outbox } from 'sendoff'
import { Inbox } from 'sendoff/inbox'
import { sqliteStore } from 'sendoff/sqlite'
import { UnreliableQueue } from './unreliable-queue.ts'

const orderCount = 20

interface Order {
  readonly id: string
  readonly total: number
}

const OrderPlaced = defineEvent<Order>('OrderPlaced', { aggregateType: 'Order', aggregateId: ({ id }) => id })
const InvoiceIssued = defineEvent<Order>('InvoiceIssued', {
  aggregateType: 'Order',
  aggregateId: ({ id }) => id,
})

const folder = await mkdtemp(join(tmpdir(), 'sendoff-inbox-'))
const queue = new UnreliableQueue<Order>()

// The shop.
const shop = await openService('shop', 'orders')
shop.on(OrderPlaced, (event) => queue.send({ id: event.eventId, body: event.payload }))
for (let number = 1; number <= orderCount; number += 1) {
  const order = { id: `o-${number}`, total: 10 * number }
  await shop.transaction(async (tx) => {
    tx.prepare('insert into orders values (?, ?)').run(order.id, order.total)
    await shop.write(OrderPlaced, order)
  })
}
await shop.drain()

// Billing.
const billing = await openService('billing', 'invoices')
let issued = 0
billing.on(InvoiceIssued, () => void (issued += 1))
const inbox = new Inbox({ outbox: billing, consumer: 'billing' })
let duplicates = 0
let crashes = 0

async function consume(): Promise<void> {
  for (let message = queue.take(); message !== undefined; message = queue.take()) {
    const { id, body: order } = message
    const outcome = await inbox.process(id, async (tx) => {
      tx.prepare('insert into invoices values (?, ?)').run(order.id, order.total)
      await billing.write(InvoiceIssued, order)
    })
    if (outcome === 'duplicate') duplicates += 1
    // Every third time the consumer crashes after the commit: the queue delivers the message again.
    if (outcome === 'processed' && ++crashes % 3 === 0) queue.returnUnacknowledged(message)
  }
}
await Promise.all([consume(), consume()])
await billing.drain()

const invoices = new DatabaseSync(join(folder, 'billing.db')).prepare('select * from invoices').all()
await shop.close()
await billing.close()
await rm(folder, { recursive: true, force: true })
console.log(
  `orders=${orderCount} delivered=${queue.delivered} duplicates=${duplicates} invoices=${invoices.length} issued=${issued}`,
)

/** Starts a service with an outbox, and a table of orders or invoices. */
async function openService(name: string, table: string) {
  const file = join(folder, `${name}.db`)
  new DatabaseSync(file).exec(`create table ${table} (id text, total real)`)
  return Outbox.multiNode({ store: sqliteStore({ open: () => new DatabaseSync(file) }) }).start()
}
