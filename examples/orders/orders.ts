/**
 * A shop with a REST API, an outbox in PostgreSQL and its dashboard: `npm run example:orders`. It uses the
 * database of `DATABASE_URL`, or starts a private one. Place an order with `curl -d '{"id":"o-1","total":42}' -H
 * 'content-type: application/json' localhost:3000/orders`, and open `localhost:3000/outbox/`: any name, and the
 * password that the program prints, or that of `OPS_TOKEN`.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { ListenerRegistry, Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { openPostgres } from '../open-postgres.ts'
import { OrderPlaced } from './order-placed.ts'
import { ordersApi } from './orders-api.ts'

const asked = Promise.withResolvers<void>()
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => asked.resolve())
const database = await openPostgres()
const pool = new pg.Pool({ connectionString: database.url })
await pool.query(`
  create table if not exists orders (id text primary key, total float not null);
  create table if not exists shipments (order_id text primary key, booked_at timestamptz not null default now())`)

const listeners = new ListenerRegistry().register(OrderPlaced, async (event) => {
  // An event may come twice, after a crash: the second delivery changes nothing.
  await pool.query('insert into shipments (order_id) values ($1) on conflict do nothing', [event.payload.id])
  console.log(`Order ${event.payload.id} is shipped.`)
})
const store = postgresStore({ client: pool })
const outbox = await Outbox.multiNode({ store, listeners, purge: true }).start()

const token = process.env['OPS_TOKEN'] ?? randomBytes(12).toString('hex')
const api = ordersApi({ pool, store, outbox, token })
const server = api.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
console.log(`Orders: ${url}/orders`)
console.log(`Dashboard: ${url}/outbox/ (password ${token})`)

await asked.promise
// Requests first, because they write; then deliveries, and then the connections that both use.
server.close()
server.closeIdleConnections()
await outbox.close()
server.closeAllConnections()
await pool.end()
await database.close()
