import { defineEvent } from 'sendoff'

/** An order of the shop. */
export interface Order {
  readonly id: string
  readonly total: number
}

/** Written in the transaction that adds the order. */
export const OrderPlaced = defineEvent<Order>('OrderPlaced', {
  aggregateType: 'Order',
  aggregateId: ({ id }) => id,
})
