import { defineEvent } from 'sendoff'
import { z } from 'zod'

/** An order was committed. The schema checks the payload when it is written, and again when it is read. */
export const OrderPlaced = defineEvent('OrderPlaced', {
  aggregateType: 'Order',
  schema: z.object({ orderId: z.uuid(), total: z.number().positive() }),
  aggregateId: (order) => order.orderId,
})
