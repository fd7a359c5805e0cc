import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { scale } from '../../../../../test/faults/run/scale.ts'
import { type FaultProxy, faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import {
  debianPostgresServer,
  debianPostgresStandby,
} from '../../../../../test/services/servers/postgres/postgres.ts'
import { promote } from '../../../../../test/services/servers/postgres/postgres-standby.ts'
import type { PostgresServer } from '../../../../../test/services/servers/postgres/postgres-server.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

const orderCount = scale({ small: 400, full: 5_000 })
const writerCount = 4

describe('postgres store: a standby that is promoted under load', () => {
  it('loses nothing that was confirmed, if it is synchronous', async (t) => {
    const shop = await openShop(t)
    await shop.primary.query(`alter system set synchronous_standby_names = '*'`)
    await shop.primary.query('select pg_reload_conf()')
    await shop.until(`select from pg_stat_replication where sync_state = 'sync'`)

    const writing = shop.write()
    await shop.reach(orderCount / 2)
    await shop.failOver()
    await writing
    const counts = await shop.judge()
    t.diagnostic(`synchronous: ${JSON.stringify(counts)}`)
    equal(counts.lostOrders, 0)
  })

  it('loses what it had not received, if it is asynchronous: orders and their events together', async (t) => {
    const shop = await openShop(t)
    const writing = shop.write()
    await shop.reach(orderCount / 2)
    // The standby falls behind by some orders, as on a slow network.
    shop.replication.halfOpen()
    await shop.reach(orderCount / 2 + orderCount / 20)
    await shop.failOver()
    await writing
    const counts = await shop.judge()
    t.diagnostic(`asynchronous: ${JSON.stringify(counts)}`)
    ok(counts.lostOrders > 0)
  })
})

interface Counts {
  /** Orders whose commit was confirmed. */
  readonly confirmed: number
  /** Confirmed orders that the new primary does not have. */
  readonly lostOrders: number
  /** Lost orders whose event was delivered: the receiver knows an order that does not exist. */
  readonly deliveredAndLost: number
  /** Events that were delivered more than once: the new primary did not know that they were. */
  readonly deliveredAgain: number
}

interface Shop {
  readonly primary: pg.Pool
  /** Between the standby and its primary. */
  readonly replication: FaultProxy
  /** Resolves when a statement on the primary returns a row. */
  until(sql: string): Promise<void>
  /** Places all orders, each in a transaction with its event. */
  write(): Promise<void>
  /** Resolves when so many orders are confirmed. */
  reach(count: number): Promise<void>
  /** Kills the primary and promotes the standby. */
  failOver(): Promise<void>
  /** Counts what was lost. Rejects if more was lost than the standby had not received. */
  judge(): Promise<Counts>
}

async function openShop(t: TestContext): Promise<Shop> {
  const folders = [temporaryFolder('primary'), temporaryFolder('standby')] as const
  const server = await debianPostgresServer(folders[0].path)
  const address = await faultProxy(server.url)
  const replication = await faultProxy(server.url)
  const primary = new pg.Pool({ connectionString: server.url })
  primary.on('error', () => {})
  await primary.query('create table orders (id integer primary key)')
  const standby = await debianPostgresStandby(folders[1].path, replication.url)

  const pool = new pg.Pool({ connectionString: address.url, max: 20, connectionTimeoutMillis: 2_000 })
  const deliveries = new Map<number, number>()
  const outbox = await Outbox.multiNode({
    store: postgresStore({ client: pool }),
    listeners: new ListenerRegistry().register('OrderPlaced', ({ payload }) => {
      deliveries.set(payload as number, (deliveries.get(payload as number) ?? 0) + 1)
    }),
    leaseMs: 3_000,
    logger: false,
  }).start()
  t.after(async () => {
    await outbox.close()
    await Promise.all([pool.end(), primary.end()])
    await Promise.all([address.close(), replication.close()])
    await Promise.all([server, standby].map((each: PostgresServer) => each.stop('immediate')))
    folders.forEach((folder) => folder.remove())
  })

  const confirmed = new Set<number>()
  let next = 0
  const writeSome = async () => {
    for (let id = next++; id < orderCount; id = next++) {
      try {
        await outbox.transaction(async (tx) => {
          await tx.query('insert into orders values ($1)', [id])
          await outbox.write('OrderPlaced', id)
        })
        confirmed.add(id)
      } catch {
        // Not confirmed. The server is away, so there is no hurry.
        await delay(20)
      }
    }
  }

  return {
    primary,
    replication,
    async until(sql) {
      while ((await primary.query(sql)).rowCount === 0);
    },
    write: async () => void (await Promise.all(Array.from({ length: writerCount }, writeSome))),
    async reach(count) {
      while (confirmed.size < count) await delay(1)
    },
    async failOver() {
      await server.kill()
      await promote(standby)
      address.redirect(standby.url)
    },
    async judge() {
      const kept = new Set(
        (await pool.query<{ id: number }>('select id from orders')).rows.map(({ id }) => id),
      )
      const pending = 'select from outbox_event where status <> 1'
      while ((await pool.query(pending)).rowCount !== 0) await delay(20)
      // Whatever became of an order became of its event, and every kept one is delivered.
      const events = await pool.query<{ id: number }>('select payload::text::integer as id from outbox_event')
      deepEqual(new Set(events.rows.map(({ id }) => id)), kept)
      deepEqual(
        [...kept].filter((id) => !deliveries.has(id)),
        [],
      )

      const lost = [...confirmed].filter((id) => !kept.has(id))
      return {
        confirmed: confirmed.size,
        lostOrders: lost.length,
        deliveredAndLost: lost.filter((id) => deliveries.has(id)).length,
        deliveredAgain: [...deliveries.values()].filter((times) => times > 1).length,
      }
    },
  }
}
