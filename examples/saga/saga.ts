/**
 * A saga of two services, each with a database of its own: `npm run example:saga`. The order service reserves
 * stock and asks the payment service for the money. If a customer cannot pay, the order service gives the stock
 * back. Messages go by HTTP, from an outbox to an inbox, and many come twice; every effect happens once.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startOrderService } from './order-service.ts'
import { startPaymentService } from './payment-service.ts'

const orderCount = 20
const folder = await mkdtemp(join(tmpdir(), 'sendoff-saga-'))
const orders = await startOrderService(folder, 100)
// Each places ten orders of 10: Ada can pay for all of them, and Bob for four.
const payments = await startPaymentService(folder, { ada: 500, bob: 45 })
orders.service.peer = payments.service.url
payments.service.peer = orders.service.url

for (let number = 1; number <= orderCount; number += 1) {
  await orders.place({ orderId: `o-${number}`, customer: number % 2 === 0 ? 'ada' : 'bob', total: 10 })
}
while (orders.service.figure(`select count(*) from orders where status = 'pending'`) > 0) await sleep(20)
// The last responses may be lost as well: both wait until every message is acknowledged.
for (const { service } of [orders, payments]) {
  while (service.figure('select count(*) from outbox_event where status <> 1') > 0) await sleep(20)
}

const received = orders.service.received + payments.service.received
console.log(`messages=${2 * orderCount} came again=${received > 2 * orderCount}`)
console.log(
  `paid=${orders.service.figure(`select count(*) from orders where status = 'paid'`)}` +
    ` cancelled=${orders.service.figure(`select count(*) from orders where status = 'cancelled'`)}` +
    ` stock=${orders.service.figure('select sum(change) from stock')}`,
)
console.log(
  `payments=${payments.service.figure('select count(*) from payments')}` +
    ` taken=${payments.service.figure('select sum(total) from payments')}` +
    ` balances=${payments.service.figure('select sum(balance) from accounts')}`,
)
await orders.service.close()
await payments.service.close()
await rm(folder, { recursive: true, force: true })
