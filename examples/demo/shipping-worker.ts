import { setTimeout as sleep } from 'node:timers/promises'
import { ListenerRegistry, Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { askedToStop } from './asked-to-stop.ts'
import { openShipping, openShop } from './databases.ts'
import { OrderPlaced } from './order-placed.ts'
import { placeOrder } from './place-order.ts'

// The worker, a process of its own: `node shipping-worker.ts FOLDER NAME`. It books a shipment for every
// order. It also takes some orders itself, by phone, and delivers those straight from memory.
const [folder, name] = process.argv.slice(2) as [string, string]
const stop = askedToStop()
const shipping = openShipping(folder)

// Delivery is at least once, so a listener may get an event twice. This one recognises a booked event by its
// id: it counts a second delivery, but books nothing.
const book = shipping.prepare(`
  insert into shipments (event_id, order_id, booked_at) values (?, ?, ?)
  on conflict (event_id) do update set deliveries = deliveries + 1`)

const listeners = new ListenerRegistry().register(OrderPlaced, async (event) => {
  book.run(event.eventId, event.payload.orderId, Date.now())
  await sleep(40) // the carrier takes its time to confirm
})

const outbox = await Outbox.multiNode({
  store: sqliteStore({ open: () => openShop(folder) }),
  listeners,
  workerCount: 16,
  // Short, so that a takeover is quick to watch; the default is 30 seconds.
  leaseMs: 1_500,
  // SQLite cannot signal to this process that another one has written: the worker polls every 100 ms.
  poller: { intervalMs: 100 },
  ownerId: name,
}).start()
process.send?.('ready')

while (!stop.aborted) {
  await placeOrder(outbox, 'phone')
  await sleep(150)
}

await outbox.close()
shipping.close()
