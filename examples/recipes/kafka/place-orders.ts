import { Outbox } from 'sendoff'
import { OrderPlaced, pool, store } from './shop.ts'

await pool.query(
  'create table if not exists orders (id text primary key, customer_id text not null, total integer not null)',
)
const outbox = await Outbox.writerOnly({ store }).start()

const ids = process.argv.slice(2)
for (const id of ids) {
  const order = { id, customerId: 'c-1', total: 42 }
  await outbox.transaction(async (tx) => {
    await tx.query('insert into orders values ($1, $2, $3)', [order.id, order.customerId, order.total])
    await outbox.write(OrderPlaced, order) // in the same transaction
  })
}

await outbox.close()
await pool.end()
