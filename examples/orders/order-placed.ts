import { defineEvent } from 'sendoff'
import { z } from 'zod'

/** An order as clients send it. */
export const Order = z.object({ id: z.string().min(1).max(64), total: z.number().positive() })

/** Written in the transaction that adds the order. */
export const OrderPlaced = defineEvent('OrderPlaced', {
  aggregateType: 'Order',
  schema: Order,
  aggregateId: ({ id }) => id,
})
