import type { Server } from 'node:http'
import type { DatabaseSync } from 'node:sqlite'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { healthHandler } from 'sendoff/observe'
import { OrderRefused, orderOf, outbox, placeOrder } from './shop.ts'

/** Runs the rest of the route in a transaction. Hono sends the response after the commit. */
const inTransaction = createMiddleware<{ Variables: { tx: DatabaseSync } }>(async (context, next) => {
  await outbox.transaction(async (tx) => {
    context.set('tx', tx)
    await next()
    // Hono has caught what the handler threw. Without this line, the transaction would commit.
    if (context.error) throw context.error
  })
})

const app = new Hono()

app.post('/orders', inTransaction, async (context) => {
  const order = orderOf(await context.req.json())
  await placeOrder(context.get('tx'), order)
  return context.json(order, 201)
})

const probe = healthHandler(outbox)
app.get('/livez', (context) => probe(context.req.raw))
app.get('/readyz', (context) => probe(context.req.raw))

app.onError((error, context) => {
  if (error instanceof OrderRefused) return context.json({ error: error.message }, 409)
  console.error(error)
  return context.json({ error: 'The shop failed.' }, 500)
})

await outbox.start()
const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => {
  console.log(`The shop is open at http://127.0.0.1:${address.port}`)
}) as Server

process.once('SIGTERM', () => {
  // Requests that have begun write their events. Then the outbox delivers what it holds, and closes.
  server.close(() => void outbox.close())
  // A connection with a request is idle only after its response. Node would keep it for 5 s.
  setInterval(() => server.closeIdleConnections(), 100).unref()
})
