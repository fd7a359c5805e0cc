import pg from 'pg'
import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { OrderPlaced } from './lib/shop.ts'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const outbox = Outbox.multiNode({ store: postgresStore({ client: pool }) })

outbox.on(OrderPlaced, async ({ payload: { id } }) => {
  // An event may come twice, after a crash: the second delivery changes nothing.
  await pool.query('insert into shipments values ($1) on conflict do nothing', [id])
  console.log(`Order ${id} is shipped.`)
})
await outbox.start()
console.log('The worker is ready.')

process.once('SIGTERM', () => void outbox.close().then(() => pool.end()))
