import { Admin, Producer } from '@platformatic/kafka'
import { Outbox } from 'sendoff'
import { kafkaPublisher } from 'sendoff/kafka'
import { bootstrapBrokers, OrderPlaced, pool, store, topic } from './shop.ts'

// In production, the topic exists before, with three replicas.
const admin = new Admin({ clientId: 'relay-setup', bootstrapBrokers })
if (!(await admin.listTopics()).includes(topic)) {
  await admin.createTopics({ topics: [topic], partitions: 6, replicas: 1 })
}
await admin.close()

const producer = new Producer({
  clientId: 'relay',
  bootstrapBrokers,
  idempotent: true,
  retries: 3,
  retryDelay: 200,
})

// Every process of this table that delivers is `partitioned`: it keeps the order of each customer.
const outbox = Outbox.partitioned({ store, purge: true })
outbox.on(OrderPlaced, kafkaPublisher({ producer, topic }))
await outbox.start()
console.log('The relay runs.')

process.once('SIGTERM', () => void stop())

async function stop(): Promise<void> {
  await outbox.close() // first the outbox, then what it uses
  await producer.close()
  await pool.end()
}
