import { deepEqual, equal, ok } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeArguments } from '../../../test/decorators/node-arguments.ts'
import { postgresDatabase } from '../../sendoff/test/transactions/postgres-database.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'

describe('a rolling deploy of a Nest application', { skip: !isFull && 'it is in npm run test:full' }, () => {
  it('under load loses no order, although a process of the old release is killed in the middle', async (test) => {
    const database = await postgresDatabase()
    test.after(() => database.drop())
    await database.query('create table orders (id text primary key)')
    await database.query('create table shipments (order_id text not null, release text not null)')
    const running: ChildProcess[] = []
    test.after(() => running.forEach((shop) => shop.kill('SIGKILL')))
    const undelivered = `select count(*)::int as count from orders
      where not exists (select from shipments where order_id = orders.id)`

    const [killed] = await Promise.all([start('old-1'), start('old-2')])
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const [fresh] = await Promise.all([start('new-1'), end(running[1]!)])
    await start('new-2')
    await end(fresh)
    const last = running.at(-1)!
    await placed(last)
    // The leases of the killed process run out first.
    for (;;) {
      const pending = await database.query(
        `${undelivered} and (orders.id like 'old%' or orders.id like 'new-1%')`,
      )
      if (pending[0]?.['count'] === 0) break
      await sleep(50)
    }
    await end(last)

    // The last process leaves to its successor what it has not begun.
    const lost = `${undelivered} and not exists (select from outbox_event
      where status in (0, 2) and payload ->> 'orderId' = orders.id)`
    deepEqual(await database.query(lost), [{ count: 0 }], 'an order is lost')
    deepEqual(
      await database.query(`select count(*)::int as count from shipments
        where not exists (select from orders where orders.id = order_id)`),
      [{ count: 0 }],
      'an undone order is shipped',
    )
    const releases = await database.query('select distinct release from shipments order by release')
    deepEqual(
      releases.map(({ release }) => String(release)),
      ['new-1', 'new-2', 'old-1', 'old-2'],
    )
    const [twice] = await database.query(`select count(*)::int as count from
      (select order_id from shipments group by order_id having count(*) > 1) as twice
      where order_id not like 'old-1%'`)
    // In this mode a process delivers its own orders; only those of the killed one may come twice.
    equal(twice?.['count'], 0)
    const [all] = await database.query('select count(*)::int as count from orders')
    ok(Number(all?.['count']) > 40)

    /** Starts a process, and resolves when it has placed orders. */
    async function start(release: string): Promise<ChildProcess> {
      const program = join(import.meta.dirname, 'deployed-shop.ts')
      const args = [...nodeArguments('@Module()'), program, database.url, release]
      const shop = spawn(process.execPath, args, {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, OUTBOX_MODE: 'multi-node', OUTBOX_CLAIM_LOCKING_LOCK_TIMEOUT: '2s' },
      })
      running.push(shop)
      await placed(shop)
      return shop
    }
  })
})

/** Resolves when the shop has placed another ten orders. */
async function placed(shop: ChildProcess): Promise<void> {
  const lines = createInterface(shop.stdout!)
  await Promise.race([
    once(lines, 'line'),
    once(shop, 'exit').then(() => Promise.reject(new Error('The shop ended before it placed orders.'))),
  ])
  // The next line is that of a later order.
  lines.close()
  shop.stdout!.resume()
}

async function end(shop: ChildProcess): Promise<void> {
  shop.kill('SIGTERM')
  deepEqual(await once(shop, 'exit'), [null, 'SIGTERM'])
}
