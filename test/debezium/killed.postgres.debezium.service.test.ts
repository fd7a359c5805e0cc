import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { Inbox } from '../../packages/sendoff/src/inbox/index.ts'
import { Outbox } from '../../packages/sendoff/src/index.ts'
import { postgresStore } from '../../packages/sendoff/src/stores/postgres/index.ts'
import { debeziumRun, pageBlock } from './debezium-run.ts'

const orderCount = 5_000
const writerCount = 4
/** What is killed when this share of the orders is placed. */
const kills = { server: [0.25, 0.55, 0.85], relay: [0.1, 0.3, 0.5, 0.7, 0.9] }

const skip = process.env['SENDOFF_TEST_SCALE'] !== 'full' && 'only npm run test:full kills so often'

describe('Debezium under faults', { skip }, () => {
  it('loses no event when server and relay are killed, and the inbox processes each once', async (t) => {
    const { server, outbox, pool, relay } = await debeziumRun(t)
    await pool.query(pageBlock('## The connector', 'sql'))
    await pool.query('create table orders (id integer primary key)')
    const billing = await openBilling()
    t.after(billing.close)
    const main = await relay(({ headers, value }) =>
      billing.receive(headers.id, JSON.parse(value!) as number),
    )

    let placed = 0
    // The commit may have succeeded although its answer was lost. Then the order exists.
    const place = (id: number) =>
      outbox.transaction(async (tx) => {
        const { rowCount } = await tx.query('insert into orders values ($1) on conflict do nothing', [id])
        if (rowCount === 1) await outbox.write('OrderPlaced', id, { aggregateType: 'Order' })
      })
    let next = 0
    const write = async () => {
      for (let id = next++; id < orderCount; id = next++) {
        const isPlaced = () =>
          place(id).then(
            () => true,
            () => false,
          )
        while (!(await isPlaced())) await setTimeout(50)
        placed += 1
        // About as fast as a busy shop, so that the faults fall between the orders.
        await setTimeout(20)
      }
    }
    const reach = async (share: number) => {
      while (placed < share * orderCount) await setTimeout(20)
    }
    await Promise.all([
      ...Array.from({ length: writerCount }, write),
      (async () => {
        for (const share of kills.server) {
          await reach(share)
          await server.kill()
          await server.start()
        }
      })(),
      (async () => {
        for (const share of kills.relay) {
          await reach(share)
          await main.kill()
        }
      })(),
    ])
    await billing.until(orderCount)

    equal((await pool.query('select from orders')).rowCount, orderCount)
    const invoices = await billing.invoices()
    deepEqual(
      invoices,
      Array.from({ length: orderCount }, (_, id) => id),
    )
    t.diagnostic(
      `orders=${orderCount} messages=${billing.received} invoices=${invoices.length} ` +
        `servers killed=${kills.server.length} relays killed=${kills.relay.length} relays started=${main.starts}`,
    )
  })
})

/** A consumer with an inbox on a server that the test does not kill. */
async function openBilling() {
  const schema = `billing_${process.pid}`
  const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']! })
  const outbox = await Outbox.writerOnly({
    store: postgresStore({ client: pool, schema }),
    logger: false,
  }).start()
  await pool.query(`create table ${schema}.invoices (order_id integer)`)
  const inbox = new Inbox({ outbox, consumer: 'billing' })
  const orders = new Set<number>()
  let changed = Promise.withResolvers<void>()

  return {
    received: 0,
    async receive(messageId: string, order: number): Promise<void> {
      this.received += 1
      await inbox.process(messageId, (tx) => tx.query(`insert into ${schema}.invoices values ($1)`, [order]))
      orders.add(order)
      changed.resolve()
      changed = Promise.withResolvers()
    },
    async until(count: number): Promise<void> {
      while (orders.size < count) await changed.promise
    },
    async invoices(): Promise<readonly number[]> {
      const { rows } = await pool.query<{ order_id: number }>(
        `select order_id from ${schema}.invoices order by order_id`,
      )
      return rows.map(({ order_id }) => order_id)
    },
    close: async () => {
      await outbox.close()
      await pool.query(`drop schema ${schema} cascade`)
      await pool.end()
    },
  }
}
