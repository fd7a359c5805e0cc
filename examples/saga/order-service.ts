import { type OrderMessage, OrderPlaced, PaymentTaken } from './messages.ts'
import { Service } from './service.ts'

/** Takes orders and reserves stock for them. An order that is not paid gives its stock back. */
export async function startOrderService(folder: string, stock: number) {
  const service = await Service.start({
    folder,
    name: 'orders',
    tables: `
      create table orders (id text primary key, status text not null);
      create table stock (change int not null);
      insert into stock values (${stock})`,
    sends: [OrderPlaced],
    async receive(type, { orderId }, tx) {
      const isPaid = type === PaymentTaken.name
      tx.prepare('update orders set status = ? where id = ?').run(isPaid ? 'paid' : 'cancelled', orderId)
      // The compensation: a row of its own, so that a second one would be seen.
      if (!isPaid) tx.prepare('insert into stock values (1)').run()
    },
  })

  return {
    service,
    /** Stores the order, its reservation and the message to payments, or nothing of it. */
    async place(order: OrderMessage): Promise<void> {
      await service.outbox.transaction(async (tx) => {
        tx.prepare('insert into orders values (?, ?)').run(order.orderId, 'pending')
        tx.prepare('insert into stock values (-1)').run()
        await service.outbox.write(OrderPlaced, order)
      })
    },
  }
}
