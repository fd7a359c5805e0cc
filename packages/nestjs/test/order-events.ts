import { defineEvent } from 'sendoff'

export const OrderPlaced = defineEvent<{ orderId: string; total: number }>('OrderPlaced', {
  aggregateType: 'Order',
})

export const OrderPaid = defineEvent<{ orderId: string }>('OrderPaid', { aggregateType: 'Order' })
