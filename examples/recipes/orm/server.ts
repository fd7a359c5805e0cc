import type { AddressInfo } from 'node:net'
import express, { type NextFunction, type Request, type Response } from 'express'
import { makeTables, OrderRefused, orderOf, outbox, placeOrder, pool } from './shop.ts'

const app = express()
app.use(express.json())

app.post('/orders', async (request, response) => {
  const order = orderOf(request.body)
  await outbox.transaction((tx) => placeOrder(tx, order))
  response.status(201).json(order) // after the commit, never before
})

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

await makeTables()
await outbox.start()
const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`The shop is open at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

process.once('SIGTERM', () => {
  // First the server, then the outbox, which delivers what it holds, then the connections.
  server.close(() => void outbox.close().then(() => pool.end()))
  // A connection with a request is idle only after its response. Node would keep it for 5 s.
  setInterval(() => server.closeIdleConnections(), 100).unref()
})
