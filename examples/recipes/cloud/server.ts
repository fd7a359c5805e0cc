import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Outbox } from 'sendoff'
import { healthHandler } from 'sendoff/observe'
import { postgresStore } from 'sendoff/postgres'
import { OrderPlaced, OrderRefused, orderOf, placeOrder, pool, ship } from './shop.ts'

// The job has brought the tables up to date. `start()` only checks them.
const outbox = Outbox.multiNode({ store: postgresStore({ client: pool }), migrate: false })
outbox.on(OrderPlaced, ship)
await outbox.start()

const app = new Hono()
app.post('/orders', async (context) => {
  const order = orderOf(await context.req.json())
  await placeOrder(outbox, order)
  return context.json(order, 201)
})
app.onError((error, context) => {
  if (error instanceof OrderRefused) return context.json({ error: error.message }, 409)
  console.error(error)
  return context.json({ error: 'The shop failed.' }, 500)
})

const probe = healthHandler(outbox)
app.get('/livez', (context) => probe(context.req.raw))
app.get('/readyz', (context) => probe(context.req.raw))

const port = Number(process.env.PORT ?? 8080)
const server = serve({ fetch: app.fetch, port, hostname: '0.0.0.0' }, (address) => {
  console.log(`The shop is open at http://127.0.0.1:${address.port}`)
}) as Server

process.once('SIGTERM', () => {
  // Requests that have begun write their events. Then the outbox delivers what it holds, and closes.
  server.close(() => void outbox.close().then(() => pool.end()))
  // A connection with a request is idle only after its response. Node would keep it for 5 s.
  setInterval(() => server.closeIdleConnections(), 100).unref()
})
