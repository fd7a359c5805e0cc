export const eventType = 'OrderPlaced'
export const aggregateType = 'Order'

/** About 200 bytes as JSON, the same for every subject. */
export function payloadOf(number: number) {
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

/** The event about order `number`, as `outbox.writeAll` takes it. */
export function eventOf(number: number) {
  return {
    type: eventType,
    payload: payloadOf(number),
    fields: { aggregateType, aggregateId: orderIdOf(number) },
  }
}
