import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type pg from 'pg'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore, type PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { RecordingListener } from '../../fixtures/recording-listener.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { newSchema } from './test-store.ts'

const transactionMode = process.env['PGBOUNCER_URL']!
/** The database `session` of the service is the same one, in session mode. */
const sessionMode = transactionMode.replace(/[^/]*$/, 'session')
const unprepared = { prepare: false, notify: false }

describe('postgres store behind PgBouncer', () => {
  for (const prepare of [true, false]) {
    const how = prepare ? 'prepared' : 'unprepared'
    it(`in session mode, wakes other processes and delivers with ${how} statements`, (t) =>
      deliversFromElsewhere(t, sessionMode, { prepare }, 60_000))
  }

  it('in transaction mode, delivers with unprepared statements, and finds events of others by polling', (t) =>
    deliversFromElsewhere(t, transactionMode, unprepared, 50))

  it('in transaction mode, a prepared statement fails with a code, and the message says what to do', async (t) => {
    const { schema, pool, newPool } = await newSchema(t, transactionMode)
    await postgresStore({ client: pool, schema, ...unprepared }).migrate()
    // One of them prepares statements, and the other gets its connection.
    const stores = [newPool(), newPool()].map((client) => postgresStore({ client, schema, notify: false }))
    const [one, other] = stores.map((store) => () => store.claim({ lease: { owner: 'me', ms: 1 }, limit: 1 }))
    await one!()
    await rejects(other!(), { code: 'OUTBOX_POOLED_CONNECTION', message: /Set "prepare: false"/ })
  })
})

/** Events that one process writes are delivered by another one. */
async function deliversFromElsewhere(
  t: TestContext,
  url: string,
  options: Partial<PostgresStoreOptions<pg.Pool>>,
  intervalMs: number,
): Promise<void> {
  const { schema, newPool } = await newSchema(t, url)
  const listener = new RecordingListener()
  const metrics = new SignalMetrics()
  const store = () => postgresStore({ client: newPool(), schema, ...options })
  const worker = await Outbox.multiNode({
    store: store(),
    listeners: new ListenerRegistry().registerDefault(listener),
    poller: { intervalMs },
    logger: false,
    metrics,
  }).start()
  const writer = await Outbox.writerOnly({ store: store(), logger: false }).start()

  const ids: string[] = []
  for (let number = 0; number < 20; number += 1) {
    ids.push(await writer.transaction(() => writer.write('E', number)))
  }
  await metrics.until(({ dispatchSuccess }) => dispatchSuccess === 20)
  await worker.drain()
  equal(listener.events.length, 20)
  deepEqual(new Set(listener.events.map(({ eventId }) => eventId)), new Set(ids))
  await writer.close()
  await worker.close()
}
