import { type Order, OrderRefused, placeOrder } from '../../lib/shop.ts'

/** `POST /orders` */
export async function POST(request: Request): Promise<Response> {
  const order = (await request.json()) as Order
  try {
    await placeOrder(order)
  } catch (error) {
    if (error instanceof OrderRefused) return Response.json({ error: error.message }, { status: 409 })
    throw error
  }
  return Response.json(order, { status: 201 })
}
