import { setTimeout as sleep } from 'node:timers/promises'
import { Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { askedToStop } from './asked-to-stop.ts'
import { openShop } from './databases.ts'
import { PaymentDeclined, placeOrder } from './place-order.ts'

// The order service, a process of its own: `node order-service.ts FOLDER`. It takes orders until it is asked
// to stop, and never waits for shipping. It declines every 15th payment.
const folder = process.argv[2]!
const stop = askedToStop()

// This process only writes: the worker finds and delivers the events.
const outbox = await Outbox.writerOnly({
  store: sqliteStore({ open: () => openShop(folder) }),
}).start()
process.send?.('ready')

for (let count = 1; !stop.aborted; count++) {
  try {
    await placeOrder(outbox, 'web', count % 15 === 0 ? 'declined' : 'accepted')
  } catch (error) {
    if (!(error instanceof PaymentDeclined)) throw error
    process.send?.('rolledBack')
  }
  await sleep(4 + Math.random() * 12)
}

await outbox.close()
