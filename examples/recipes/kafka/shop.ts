import { Pool } from 'pg'
import { defineEvent } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'

/** An order, as a customer sends it. */
export interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

/** Orders of one customer keep their order, in the outbox and in Kafka. */
export const OrderPlaced = defineEvent<Order>('OrderPlaced', {
  aggregateType: 'Order',
  aggregateId: ({ id }) => id,
  orderingKey: ({ customerId }) => customerId,
})

/** The brokers of Kafka, and the topic of the orders. */
export const bootstrapBrokers = [process.env.KAFKA ?? 'localhost:9092']
export const topic = process.env.TOPIC ?? 'orders'

/** The connections of this process. */
export const pool = new Pool({ connectionString: process.env.DATABASE_URL })

/** The table of events, beside the tables of the shop. */
export const store = postgresStore({ client: pool })
