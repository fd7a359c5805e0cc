import { DatabaseSync } from 'node:sqlite'
import { Admin, Consumer } from '@platformatic/kafka'
import { Outbox } from 'sendoff'
import { kafkaConsumer } from 'sendoff/consumers/kafka'
import { Inbox } from 'sendoff/inbox'
import { sqliteStore } from 'sendoff/sqlite'
import type { Order } from './shop.ts'

// Billing is another service, with a database of its own.
const file = process.env.BILLING_DATABASE ?? 'billing.db'
new DatabaseSync(file).exec('create table if not exists invoices (order_id text, total integer not null)')

// The inbox marks a message in the transaction of its effects. It uses the transactions of an outbox.
const outbox = Outbox.writerOnly({ store: sqliteStore({ open: () => new DatabaseSync(file) }) })
const inbox = new Inbox({ outbox, consumer: 'billing' })
await outbox.start()

const bootstrapBrokers = [process.env.KAFKA ?? 'localhost:9092']
const groupId = process.env.GROUP ?? 'billing'
const client = new Consumer({ clientId: 'billing', groupId, bootstrapBrokers })
const admin = new Admin({ clientId: 'billing', bootstrapBrokers })
const consumer = kafkaConsumer({
  consumer: client,
  topics: [process.env.TOPIC ?? 'orders'],
  admin, // warns if the topic keeps messages for longer than the inbox recognises them
  inbox,
  handler: (message, tx) => {
    const order = message.payload as Order
    tx.prepare('insert into invoices values (?, ?)').run(order.id, order.total)
    console.log(`Order ${order.id} is invoiced.`)
  },
})
await consumer.start()
console.log('Billing runs.')

process.once('SIGTERM', () => void stop())

async function stop(): Promise<void> {
  await consumer.close() // first the consumer, then what it uses
  await Promise.all([client.close(), admin.close()])
  await outbox.close()
}
