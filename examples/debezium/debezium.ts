/**
 * Debezium delivers the events of a shop to billing:
 *
 *     mvn -f examples/debezium package dependency:copy-dependencies
 *     npm run example:debezium
 *
 * It uses the database of `DATABASE_URL`, whose server needs `wal_level = logical`, or starts a private one. The shop
 * only writes. Half-way, Debezium is killed and starts again. It repeats some messages then, and billing issues each
 * invoice once.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { defineEvent, Outbox } from 'sendoff'
import { Inbox } from 'sendoff/inbox'
import { postgresStore } from 'sendoff/postgres'
import { openPostgres } from '../open-postgres.ts'
import { MessageReceiver } from './message-receiver.ts'
import { RelayProcess } from './relay-process.ts'
import { missingForRelay, missingOnServer } from './requirements.ts'

const orderCount = 20

interface Order {
  readonly id: string
  readonly total: number
}

const OrderPlaced = defineEvent<Order>('OrderPlaced', { aggregateType: 'Order', aggregateId: ({ id }) => id })

stopIfMissing(missingForRelay())
const database = await openPostgres()
const pool = new pg.Pool({ connectionString: database.url })
stopIfMissing(await missingOnServer(pool))

const folder = await mkdtemp(join(tmpdir(), 'sendoff-debezium-'))
await pool.query(`
  drop table if exists orders, invoices;
  create table orders (id text primary key, total integer);
  create table invoices (order_id text, total integer)`)

// The shop. Nothing delivers from this table, so events are purged by their age.
const shop = await Outbox.writerOnly({
  store: postgresStore({ client: pool }),
  purge: { ageMs: 3_600_000 },
}).start()
await pool.query(`
  drop publication if exists outbox;
  create publication outbox for table outbox_event with (publish = 'insert')`)

// Billing, with a table of its own for the marks of its inbox.
const billing = await Outbox.writerOnly({
  store: postgresStore({ client: pool, table: 'billing_event' }),
}).start()
const inbox = new Inbox({ outbox: billing, consumer: 'billing' })
let [issued, duplicates] = [0, 0]
const [half, all] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
const receiver = await MessageReceiver.start(async ({ headers, value }) => {
  const order = JSON.parse(value!) as Order
  const outcome = await inbox.process(headers.id, (tx) =>
    tx.query('insert into invoices values ($1, $2)', [order.id, order.total]),
  )
  if (outcome === 'duplicate') duplicates += 1
  else issued += 1
  if (issued === orderCount / 2) half.resolve()
  if (issued === orderCount) all.resolve()
})

const relay = new RelayProcess({
  databaseUrl: database.url,
  consumerUrl: receiver.url,
  offsetsFile: join(folder, 'offsets'),
})
await placeOrders(1, orderCount / 2)
await half.promise
await relay.kill()
await placeOrders(orderCount / 2 + 1, orderCount)
await all.promise

const invoices = (await pool.query('select from invoices')).rowCount
console.log(`orders=${orderCount} invoices=${invoices} relays=${relay.starts}`)
console.log(`duplicates=${duplicates}`)

await relay.stop()
receiver.close()
await shop.close()
await billing.close()
// A slot that nothing reads keeps the log of the server for ever.
await dropSlot()
await pool.end()
await database.close()
await rm(folder, { recursive: true, force: true })

function stopIfMissing(missing: readonly string[]): void {
  if (missing.length === 0) return
  console.error('The example cannot run here. It lacks:')
  for (const each of missing) console.error(`- ${each}`)
  process.exit(1)
}

async function placeOrders(first: number, last: number): Promise<void> {
  for (let number = first; number <= last; number += 1) {
    const order = { id: `o-${number}`, total: 10 * number }
    await shop.transaction(async (tx) => {
      await tx.query('insert into orders values ($1, $2)', [order.id, order.total])
      await shop.write(OrderPlaced, order)
    })
  }
}

// The server notices a moment later that the relay is gone.
async function dropSlot(): Promise<void> {
  const slot = `select from pg_replication_slots where slot_name = 'outbox' and active`
  while ((await pool.query(slot)).rowCount === 1);
  await pool.query(`select pg_drop_replication_slot('outbox')`)
}
