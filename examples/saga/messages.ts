import { defineEvent } from 'sendoff'

/** An order, as both services speak of it. */
export interface OrderMessage {
  readonly orderId: string
  readonly customer: string
  readonly total: number
}

/** Orders to payments: take the money. */
export const OrderPlaced = defineEvent<OrderMessage>('OrderPlaced')
/** Payments to orders: the money is taken. */
export const PaymentTaken = defineEvent<OrderMessage>('PaymentTaken')
/** Payments to orders: the customer cannot pay. The order service takes back what it did. */
export const PaymentRefused = defineEvent<OrderMessage>('PaymentRefused')
