// Delivers two events: one of an earlier process that ended before it could deliver it, and one of its own.
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineEvent, Outbox } from 'sendoff'
import { fileStore } from './file-store.ts'

const OrderPlaced = defineEvent<{ orderId: string }>('OrderPlaced', { aggregateType: 'Order' })
const [path = join(tmpdir(), `orders-${process.pid}.json`)] = process.argv.slice(2)
const isEarlierProcess = process.argv.length > 2

if (isEarlierProcess) {
  const writer = await Outbox.writerOnly({ store: fileStore({ path }) }).start()
  await writer.transaction(() => writer.write(OrderPlaced, { orderId: 'o-1' }))
  process.exit()
}

execFileSync(process.execPath, [import.meta.filename, path])

const outbox = Outbox.singleNode({ store: fileStore({ path }) })
outbox.on(OrderPlaced, ({ payload }) => console.log(`Order ${payload.orderId} was placed.`))
await outbox.start()
await outbox.transaction(() => outbox.write(OrderPlaced, { orderId: 'o-2' }))
await outbox.drain()
await outbox.close()
