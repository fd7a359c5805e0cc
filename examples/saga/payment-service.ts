import { OrderPlaced, PaymentRefused, PaymentTaken } from './messages.ts'
import { Service } from './service.ts'

/** Takes money from the accounts of customers, as long as there is enough. */
export async function startPaymentService(folder: string, balances: Readonly<Record<string, number>>) {
  const accounts = Object.entries(balances).map(([customer, balance]) => `('${customer}', ${balance})`)
  const service: Service = await Service.start({
    folder,
    name: 'payments',
    tables: `
      create table accounts (customer text primary key, balance real not null);
      insert into accounts values ${accounts.join(', ')};
      create table payments (order_id text not null, total real not null)`,
    sends: [PaymentTaken, PaymentRefused],
    async receive(type, order, tx) {
      if (type !== OrderPlaced.name) return
      const take = 'update accounts set balance = balance - ? where customer = ? and balance >= ?'
      const { changes } = tx.prepare(take).run(order.total, order.customer, order.total)
      if (changes === 0) {
        await service.outbox.write(PaymentRefused, order)
      } else {
        tx.prepare('insert into payments values (?, ?)').run(order.orderId, order.total)
        await service.outbox.write(PaymentTaken, order)
      }
    },
  })
  return { service }
}
