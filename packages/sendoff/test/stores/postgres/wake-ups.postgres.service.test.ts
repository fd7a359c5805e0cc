import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import { debianPostgresServer } from '../../../../../test/services/servers/postgres/postgres.ts'
import { temporaryFolder } from '../../../../../test/services/machine/temporary-folder.ts'
import { systemClock } from '../../../src/clock.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import type { NewRow, WakeUp } from '../../../src/store/index.ts'
import { type PostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { PgListeners } from '../../../src/stores/postgres/drivers/pg-listener.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { Gate } from '../../fixtures/gate.ts'
import { lease, newSchema, newStore, type PgStore } from './test-store.ts'

describe('postgres store: wake-ups', () => {
  it('listeners are called once at their start, and at each announcement', async (t) => {
    const { store, schema, newPool } = await newStore(t)
    const other = postgresStore({ client: newPool(), schema })
    const signals = await listen(t, other)
    await signals.next()
    await store.wakeUps!.announce()
    await signals.next()

    equal(signals.count, 2)
  })

  it('a listener that stopped is not called any more, nor is one whose store was closed', async (t) => {
    const { store } = await newStore(t)
    const calls: string[] = []
    const stop = await store.wakeUps!.listen(() => calls.push('stopped'))
    const signals = await listen(t, store)
    await stop()
    await stop()
    await signals.next()
    await store.wakeUps!.announce()
    await signals.next()

    deepEqual(calls, ['stopped'])
  })

  it('a transaction announces its rows when it commits, once however many', async (t) => {
    const { store } = await newStore(t)
    const { notifications, mark } = await notificationsOf(t, store)
    await announced(store, [sampleRow()])
    await mark()
    await announced(store, sampleRows(5))
    await announced(store, [sampleRow({ idempotencyKey: 'key' }), sampleRow()])
    await mark()

    deepEqual(notifications, ['signal', 'mark', 'signal', 'signal', 'mark'])
  })

  it('a signal tells the partitions that it is about, unless there may be others', async (t) => {
    const { store, schema } = await newStore(t)
    const sql = postgres(process.env['POSTGRES_URL']!, { max: 2, onnotice: () => {} })
    t.after(() => sql.end())
    const told: (readonly number[] | undefined)[] = []
    const later: WakeUp[] = []
    const signals = new SignalCounter()
    const stop = await postgresStore({ client: sql, schema }).wakeUps!.listen((wakeUp) => {
      const { partitions, inMs } = wakeUp
      if (inMs === undefined) told.push(partitions && [...partitions].sort((a, b) => a - b))
      else later.push(wakeUp)
      signals.call()
    })
    await signals.next()
    await store.wakeUps!.announce()
    await store.wakeUps!.announce({ partitions: [7] })
    await store.wakeUps!.announce({ partitions: [0, 255] })
    await announced(store, [sampleRow({ orderingKey: 'a', partitionNo: 5 })])
    await announced(store, [
      sampleRow({ orderingKey: 'b', partitionNo: 9 }),
      sampleRow({ orderingKey: 'c', partitionNo: 11 }),
      sampleRow({ orderingKey: 'b', partitionNo: 9 }),
      sampleRow({ orderingKey: 'd', partitionNo: 12, due: { inMs: 60_000 } }),
    ])
    await announced(store, [sampleRow({ orderingKey: 'a', partitionNo: 5 }), sampleRow()])
    while (signals.count < 8) await signals.next()
    await stop()

    deepEqual(told, [undefined, undefined, [7], [0, 255], [5], [9, 11], undefined])
    deepEqual(later, [{ partitions: [12], inMs: [60_000] }])
  })

  it('nothing is announced where nobody could take a row now', async (t) => {
    const { store } = await newStore(t)
    const { notifications, mark } = await notificationsOf(t, store)
    await announced(store, sampleRows(3, { claimed: true }))
    await announced(store, [sampleRow({ claimed: true })])
    await announced(store, [])
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(2), lease }))
    await rolledBack(store, sampleRows(2))
    await announced(store, [sampleRow({ idempotencyKey: 'key' })])
    await announced(store, [sampleRow({ idempotencyKey: 'key' })])
    await mark()

    deepEqual(notifications, ['signal', 'mark'])
  })

  it('notify: false leaves wake-ups out, and announces nothing', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const quiet = postgresStore({ client: pool, schema, notify: false })
    const { notifications, mark } = await notificationsOf(t, store)
    await announced(quiet, sampleRows(2))
    await mark()

    equal(quiet.wakeUps, undefined)
    deepEqual(notifications, ['mark'])
  })

  it('a signal that gets no connection comes with the next transaction that writes', async (t) => {
    const { store, schema, newPool } = await newStore(t)
    const { notifications, mark } = await notificationsOf(t, store)
    let aheadMs = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs }
    const pooled = postgresStore({ client: newPool({ max: 2 }), schema })
    const writer = await Outbox.writerOnly({ store: pooled, clock, logger: false }).start()
    t.after(() => writer.close())
    const write = () => writer.write('OrderPlaced', {})
    const ends = [new Gate(), new Gate(), new Gate(), new Gate()]
    const began = [new Gate(), new Gate()]
    // Two transactions hold both connections, and two more wait for them before the signal does.
    const transactions = ends.map((end, index) =>
      writer.transaction(async () => {
        if (index === 0) await write()
        began[index]?.open()
        await end.passed
        if (index === 1) await write()
      }),
    )
    await Promise.all(began.map(({ passed }) => passed))
    ends[0]!.open()
    await transactions[0]
    await mark()
    aheadMs = 1_000
    ends[1]!.open()
    await transactions[1]
    await mark()

    ends.forEach((end) => end.open())
    await Promise.all(transactions)
    deepEqual(notifications.slice(0, 3), ['mark', 'signal', 'mark'])
  })

  it('a pool of one can listen, and still work', async (t) => {
    const { schema, newPool } = await newStore(t)
    const pool = newPool({ max: 1 })
    const store = postgresStore({ client: pool, schema })
    const signals = await listen(t, store)
    await signals.next()
    await announced(store, [sampleRow()])
    await signals.next()

    equal(await store.people.count({}), 1)
    equal(pool.totalCount, 1)
  })

  it('two tables have nothing to do with each other, however long their names are', async (t) => {
    const { schema, pool } = await newSchema(t)
    const [one, other] = ['a', 'b'].map((end) =>
      postgresStore({ client: pool, schema, table: `${'long_name_'.repeat(4)}beyond_${end}` }),
    )
    await one!.migrate()
    await other!.migrate()
    const signals = await listen(t, one!)
    await signals.next()
    await announced(other!, [sampleRow()])
    await announced(one!, [sampleRow()])
    await signals.next()

    equal(signals.count, 2)
  })

  it('postgres.js listens as well', async (t) => {
    const { store, schema } = await newStore(t)
    const sql = postgres(process.env['POSTGRES_URL']!, { max: 1 })
    t.after(() => sql.end())
    const signals = await listen(t, postgresStore({ client: sql, schema }))
    await signals.next()
    await announced(store, [sampleRow()])
    await signals.next()

    equal(signals.count, 2)
  })
})

describe('postgres store: wake-ups over lost connections', () => {
  it('a listener comes back after a restart of the server, and is called then', async (t) => {
    const folder = temporaryFolder('postgres-listen')
    const server = await debianPostgresServer(folder.path)
    t.after(async () => {
      await server.kill()
      folder.remove()
    })
    const pool = new pg.Pool({ connectionString: server.url })
    t.after(() => pool.end())
    const store = postgresStore({ client: pool })
    await store.migrate()
    const signals = await listen(t, store)
    await signals.next()
    await server.restart('immediate')
    await signals.next()
    await announced(store, [sampleRow()])
    await signals.next()

    equal(signals.count, 3)
  })

  it('a listener that was never answered connects as soon as it can', async (t) => {
    const { store, newPool, schema } = await newStore(t)
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    t.after(() => proxy.close())
    proxy.halfOpen()
    const proxied = newPool({ connectionString: proxy.url })
    const signals = new SignalCounter()
    const { channel } = postgresTables(schema, 'outbox_event')
    const stop = await new PgListeners(proxied, { everyMs: 20, timeoutMs: 50 }).listen(channel, signals.call)
    t.after(stop)
    equal(signals.count, 0)
    proxy.resume()
    await signals.next()
    await store.wakeUps!.announce()
    await signals.next()
  })

  it('a connection that is dead without having ended is found out and replaced', async (t) => {
    const { store, newPool, schema } = await newStore(t)
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    t.after(() => proxy.close())
    const made = new SignalCounter()
    class CountedClient extends pg.Client {
      constructor(config: pg.ClientConfig) {
        super(config)
        made.call()
      }
    }
    const proxied = newPool({
      connectionString: proxy.url,
      Client: CountedClient as unknown as new () => pg.ClientBase,
    })
    const signals = new SignalCounter()
    const { channel } = postgresTables(schema, 'outbox_event')
    const stop = await new PgListeners(proxied, { everyMs: 20, timeoutMs: 100 }).listen(channel, signals.call)
    t.after(stop)
    await signals.next()
    await made.next()
    proxy.halfOpen()
    await made.next()
    proxy.resume()
    await signals.next()
    await store.wakeUps!.announce()
    await signals.next()

    ok(signals.count >= 3)
  })

  it('a connection over which nothing comes any more is closed without an answer', async (t) => {
    const { newPool, schema } = await newStore(t)
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    t.after(() => proxy.close())
    const signals = new SignalCounter()
    const { channel } = postgresTables(schema, 'outbox_event')
    const never = { everyMs: 3_600_000, timeoutMs: 3_600_000 }
    const stop = await new PgListeners(newPool({ connectionString: proxy.url }), never).listen(
      channel,
      signals.call,
    )
    await signals.next()
    proxy.halfOpen()
    await stop()
  })

  it('a listener does not keep its process alive', async (t) => {
    const { schema } = await newStore(t)
    const script = `
      import pg from 'pg'
      import { postgresStore } from '${new URL('../../../src/stores/postgres/index.ts', import.meta.url).href}'
      const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URL, allowExitOnIdle: true })
      await postgresStore({ client: pool, schema: '${schema}' }).wakeUps.listen(() => console.log('listening'))`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])

    equal(code, 0)
    match(output, /listening/)
  })
})

/** Counts calls, and lets each be waited for: the first `next()` for the first call, and so on. */
class SignalCounter {
  count = 0
  #awaited = 0
  #wake = () => {}

  readonly call = (): void => {
    this.count += 1
    this.#wake()
  }

  async next(): Promise<void> {
    this.#awaited += 1
    while (this.count < this.#awaited) await new Promise<void>((resolve) => (this.#wake = resolve))
  }
}

async function listen<Tx>(t: TestContext, store: PostgresStore<Tx>): Promise<SignalCounter> {
  const signals = new SignalCounter()
  await store.wakeUps!.listen(signals.call)
  t.after(() => store.close())
  return signals
}

async function announced(store: PgStore, rows: readonly NewRow[]): Promise<void> {
  await store.transaction((tx) => store.insert({ tx, rows, lease, announce: true }))
}

async function rolledBack(store: PgStore, rows: readonly NewRow[]): Promise<void> {
  const undone = store.transaction(async (tx) => {
    await store.insert({ tx, rows, lease, announce: true })
    throw new Error('undo')
  })
  await undone.catch(() => {})
}

/** Every notification on the store's channel; `mark` puts one among them and waits until it is there. */
async function notificationsOf(t: TestContext, store: PgStore) {
  const channel = /pg_notify\('([^']+)'/.exec(store.schemaSql())![1]!
  const client = new pg.Client({ connectionString: process.env['POSTGRES_URL']! })
  await client.connect()
  t.after(() => client.end())
  const notifications: string[] = []
  let wake = () => {}
  client.on('notification', ({ payload }) => {
    notifications.push(payload === 'mark' ? 'mark' : 'signal')
    if (payload === 'mark') wake()
  })
  await client.query(`listen "${channel}"`)
  const mark = async () => {
    const marked = new Promise<void>((resolve) => (wake = resolve))
    await client.query('select pg_notify($1, $2)', [channel, 'mark'])
    await marked
  }
  return { notifications, mark }
}
