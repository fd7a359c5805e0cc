import type { AddressInfo } from 'node:net'
import type { DatabaseSync } from 'node:sqlite'
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { OrderRefused, orderOf, outbox, placeOrder } from './shop.ts'

const app = express()
app.use(express.json())

app.post(
  '/orders',
  inTransaction(async (tx, request) => {
    const order = orderOf(request.body)
    await placeOrder(tx, order)
    return order
  }),
)

app.get(['/livez', '/readyz'], async (request, response) => {
  const { isLive, isReady, problems } = await outbox.health()
  const isFine = request.path === '/livez' ? isLive : isReady
  response.status(isFine ? 200 : 503).json({ problems })
})

// Express finds an error handler by its four parameters.
app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (error instanceof OrderRefused) response.status(409).json({ error: error.message })
  else next(error)
})

await outbox.start()
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`The shop is open at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

process.once('SIGTERM', () => {
  // Requests that have begun write their events. Then the outbox delivers what it holds, and closes.
  server.close(() => void outbox.close())
  // A connection with a request is idle only after its response. Node would keep it for 5 s.
  setInterval(() => server.closeIdleConnections(), 100).unref()
})

/** Runs the handler in a transaction. The customer gets a response after the commit, never before. */
function inTransaction(handler: (tx: DatabaseSync, request: Request) => Promise<object>): RequestHandler {
  return async (request, response) => {
    const body = await outbox.transaction((tx) => handler(tx, request))
    response.status(201).json(body)
  }
}
