import { Outbox } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { OrderRefused, orderOf, placeOrder, pool } from './shop.ts'

// Once for each instance of the function. The platform keeps it from call to call.
const outbox = await Outbox.writerOnly({ store: postgresStore({ client: pool }), migrate: false }).start()

/** Places the order in the body of a request, as a function behind an HTTP gateway. */
export async function handler(request: { readonly body?: string | null }) {
  try {
    const order = orderOf(JSON.parse(request.body ?? 'null'))
    // The commit comes before the response: the platform freezes the function right after that.
    await placeOrder(outbox, order)
    return { statusCode: 201, body: JSON.stringify(order) }
  } catch (error) {
    if (!(error instanceof OrderRefused)) throw error
    return { statusCode: 409, body: JSON.stringify({ error: error.message }) }
  }
}

process.once('SIGTERM', () => void outbox.close().then(() => pool.end()))
