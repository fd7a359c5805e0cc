import fastify from 'fastify'
import { outboxPlugin } from './outbox-plugin.ts'
import { OrderRefused, orderOf, outbox, placeOrder } from './shop.ts'

const app = fastify()
await app.register(outboxPlugin, { outbox })

app.post(
  '/orders',
  app.inTransaction(async (tx, request, reply) => {
    const order = orderOf(request.body)
    await placeOrder(tx, order)
    reply.code(201)
    return order
  }),
)

app.setErrorHandler((error, _request, reply) => {
  if (error instanceof OrderRefused) return reply.code(409).send({ error: error.message })
  throw error
})

const address = await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`The shop is open at ${address}`)

process.once('SIGTERM', () => void app.close())
