import { defineEvent } from 'sendoff'

export interface OrderPayload {
  readonly i: number
  readonly orderId: string
  readonly customer: string
  readonly currency: string
  readonly total: number
  readonly items: readonly { readonly sku: string; readonly qty: number; readonly price: number }[]
  readonly note: string
}

export const OrderPlaced = defineEvent<OrderPayload>('OrderPlaced', {
  aggregateType: 'Order',
  aggregateId: (order) => order.orderId,
})

/** Returns a payload of about 200 bytes as JSON, the same for every subject. */
export function payloadOf(number: number): OrderPayload {
  return {
    i: number,
    orderId: orderIdOf(number),
    customer: 'cus_8f2b1c9e7d',
    currency: 'EUR',
    total: 129.95,
    items: [
      { sku: 'SKU-000123', qty: 2, price: 49.99 },
      { sku: 'SKU-000987', qty: 1, price: 29.97 },
    ],
    note: 'gift wrap',
  }
}

export function orderIdOf(number: number): string {
  return `ord_${String(number).padStart(10, '0')}`
}
