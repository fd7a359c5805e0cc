import { deepEqual, ok } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeArguments } from '../../../test/decorators/node-arguments.ts'
import { temporaryFolder } from '../../../test/services/machine/temporary-folder.ts'
import { postgresDatabase } from '../../sendoff/test/transactions/postgres-database.ts'
import { PrismaProject } from '../../sendoff/test/transactions/prisma-project.ts'
import { type DeployedDatabaseName, deployedDatabases } from './deployed-databases.ts'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const orders = 'create table orders (id text primary key, total integer not null default 0)'
const shipments = 'create table shipments (order_id text not null, release text not null)'
const receipts = 'create table receipts (order_id text not null, release text not null)'

describe(
  'a rolling deploy under load, with a process of each release killed, loses no order with',
  {
    skip: !isFull && 'it is in npm run test:full',
  },
  () => {
    for (const orm of Object.keys(deployedDatabases) as DeployedDatabaseName[]) {
      it(orm, { timeout: 300_000 }, async (test) => {
        const { url, query } = await (orm === 'SQLite' ? sqlite(test) : postgres(test))
        const settings = await settingsFor(orm, test)
        const running: ChildProcess[] = []
        test.after(() => running.forEach((shop) => shop.kill('SIGKILL')))

        const [first, second] = await Promise.all([start('old-1'), start('old-2')])
        await kill(first)
        // Both releases run beside each other, one comes and one goes.
        const [fresh] = await Promise.all([start('new-1'), placed(second)])
        await Promise.all([end(second), placed(fresh)])
        const [last] = await Promise.all([start('new-2'), placed(fresh).then(() => kill(fresh))])
        await placed(last)
        await end(last)
        // A last process has no load, and takes what the others have left.
        const idle = await start('idle')
        const pending = 'select count(*) as count from outbox_event where status in (0, 2)'
        while ((await count(pending)) > 0) await sleep(50)
        await end(idle)

        const undelivered = `select id from orders
          where not exists (select 1 from shipments where order_id = orders.id)
             or (id like 'new%' and not exists (select 1 from receipts where order_id = orders.id))`
        deepEqual(await query(undelivered), [], 'an order is lost')
        deepEqual(
          await query('select payload from outbox_event where status <> 1'),
          [],
          'an event is not DONE',
        )
        for (const table of ['shipments', 'receipts']) {
          const undone = `select count(*) as count from ${table}
          where not exists (select 1 from orders where id = order_id)`
          deepEqual(await count(undone), 0, 'an event of an undone order is delivered')
          // Only a killed process may have delivered an event that another one delivers again.
          const twice = `select order_id from ${table} group by order_id
          having count(*) > 1 and sum(case when release in ('old-1', 'new-1') then 1 else 0 end) = 0`
          deepEqual(await query(twice), [], 'an event is delivered twice')
        }
        for (const release of ['old-1', 'old-2', 'new-1', 'new-2']) {
          const placedBy = await count(`select count(*) as count from orders where id like '${release}-%'`)
          const byIt = await count(`select count(*) as count from shipments where release = '${release}'`)
          ok(placedBy >= 80 && byIt > 0, `${release} placed ${placedBy} orders and shipped ${byIt}`)
        }
        const [orderCount, events, deliveries] = [
          await count('select count(*) as count from orders'),
          await count('select count(*) as count from outbox_event'),
          await count('select (select count(*) from shipments) + (select count(*) from receipts) as count'),
        ]
        test.diagnostic(
          `${orderCount} orders, ${events} events, ${deliveries} deliveries, 2 kills, 0 events lost`,
        )

        async function count(sql: string): Promise<number> {
          return Number((await query(sql))[0]!['count'])
        }

        /** Starts a process, and resolves when it has placed orders. */
        async function start(release: string): Promise<ChildProcess> {
          const program = join(import.meta.dirname, 'deployed-shop.ts')
          const shop = spawn(process.execPath, [...nodeArguments('@Module()'), program, orm, url, release], {
            stdio: ['ignore', 'pipe', 'inherit'],
            env: { ...process.env, ...settings },
          })
          running.push(shop)
          await placed(shop, release === 'idle' ? 1 : undefined)
          return shop
        }
      })
    }
  },
)

type Query = (sql: string) => Promise<Record<string, unknown>[]>

async function postgres(test: TestContext): Promise<{ url: string; query: Query }> {
  const database = await postgresDatabase()
  test.after(() => database.drop())
  for (const table of [orders, shipments, receipts]) await database.query(table)
  return database
}

async function sqlite(test: TestContext): Promise<{ url: string; query: Query }> {
  const folder = temporaryFolder('rolling-deploy')
  const database = new DatabaseSync(join(folder.path, 'shop.db'), { timeout: 5_000 })
  test.after(() => {
    database.close()
    folder.remove()
  })
  const delivered = new DatabaseSync(join(folder.path, 'delivered.db'))
  delivered.exec(`pragma journal_mode = wal; ${shipments}; ${receipts}`)
  delivered.close()
  database.exec(`${orders}; attach '${join(folder.path, 'delivered.db')}' as delivered`)
  return { url: folder.path, query: async (sql) => database.prepare(sql).all() }
}

async function settingsFor(orm: string, test: TestContext): Promise<NodeJS.ProcessEnv> {
  const settings = {
    OUTBOX_MODE: 'multi-node',
    // The leases of the killed process run out after it.
    OUTBOX_CLAIM_LOCKING_LOCK_TIMEOUT: '5s',
    // The old release has no listener for an event of the new one.
    OUTBOX_DISPATCHER_ON_UNROUTABLE: 'defer',
    OUTBOX_DISPATCHER_UNROUTABLE_DELAY: '2s',
  }
  if (orm !== 'Prisma') return settings
  const project = await PrismaProject.generate('postgresql')
  test.after(project.remove)
  return { ...settings, PRISMA_CLIENT_FILE: project.clientFile }
}

/** Resolves when the shop has printed as many lines more, one for every tenth order of each of its loops. */
async function placed(shop: ChildProcess, count = 20): Promise<void> {
  const lines = createInterface(shop.stdout!)
  const all = Promise.withResolvers<void>()
  lines.on('line', () => --count === 0 && all.resolve())
  const early = () => all.reject(new Error('The shop ended before it placed orders.'))
  shop.once('exit', early)
  await all.promise.finally(() => shop.off('exit', early))
  // The next line is that of a later order.
  lines.close()
  shop.stdout!.resume()
}

async function kill(shop: ChildProcess): Promise<void> {
  shop.kill('SIGKILL')
  await once(shop, 'exit')
}

async function end(shop: ChildProcess): Promise<void> {
  shop.kill('SIGTERM')
  deepEqual(await once(shop, 'exit'), [null, 'SIGTERM'])
}
