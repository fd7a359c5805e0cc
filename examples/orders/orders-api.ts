import { dashboard, nodeListener, tokenAuthorize } from '@sendoff/dashboard'
import express, { type Express } from 'express'
import type { Pool, PoolClient } from 'pg'
import type { EventWriter } from 'sendoff'
import { outboxAdmin } from 'sendoff/admin'
import type { PostgresStore } from 'sendoff/postgres'
import { Order, OrderPlaced } from './order-placed.ts'

export interface OrdersApiOptions {
  readonly pool: Pool
  readonly store: PostgresStore<PoolClient>
  readonly outbox: EventWriter<PoolClient>
  /** The password of the dashboard. */
  readonly token: string
}

/** Orders by HTTP, and the dashboard of their outbox for people who know the token. */
export function ordersApi({ pool, store, outbox, token }: OrdersApiOptions): Express {
  const app = express()

  app.post('/orders', express.json(), async (request, response) => {
    const { success, data: order } = Order.safeParse(request.body)
    if (!success) {
      response.status(400).json({ error: 'An order has an id and a positive total.' })
      return
    }
    const isNew = await outbox.transaction(async (tx) => {
      const sql = 'insert into orders (id, total) values ($1, $2) on conflict do nothing'
      const { rowCount } = await tx.query(sql, [order.id, order.total])
      if (rowCount === 0) return false
      await outbox.write(OrderPlaced, order)
      return true
    })
    if (isNew) response.status(201).json({ placed: order.id })
    else response.status(409).json({ error: `Order ${order.id} is placed already.` })
  })

  app.get('/orders', async (_request, response) => {
    const sql = `select orders.id, total, booked_at is not null as shipped
      from orders left join shipments on order_id = orders.id order by orders.id`
    response.json((await pool.query(sql)).rows)
  })

  const page = dashboard({
    admins: { orders: outboxAdmin({ store }) },
    basePath: '/outbox',
    authorize: tokenAuthorize({ tokens: { [token]: { actor: 'operator', role: 'operator' } } }),
  })
  return app.use('/outbox', nodeListener(page))
}
