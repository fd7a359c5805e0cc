import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type pg from 'pg'
import postgres from 'postgres'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore, type PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { RecordingListener } from '../../fixtures/recording-listener.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { scale } from '../../../../../test/faults/run/scale.ts'
import { insertRows } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
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

  it('in transaction mode, delivers although LISTEN is left on, by polling', (t) =>
    deliversFromElsewhere(t, transactionMode, { prepare: false }, 50))

  it('in transaction mode, a prepared statement fails with a code, and the message says what to do', async (t) => {
    const { schema, pool, newPool } = await newSchema(t, transactionMode)
    await postgresStore({ client: pool, schema, ...unprepared }).migrate()
    // One of them prepares statements, and the other gets its connection.
    const stores = [newPool(), newPool()].map((client) => postgresStore({ client, schema, notify: false }))
    const [one, other] = stores.map((store) => () => store.claim({ lease: { owner: 'me', ms: 1 }, limit: 1 }))
    await one!()
    await rejects(other!(), { code: 'OUTBOX_POOLED_CONNECTION', message: /Set "prepare: false"/ })
  })

  it('does not start on a postgres.js that prepares statements, unless told that the pooler keeps them', async (t) => {
    const { schema } = await newSchema(t, transactionMode)
    const open = (url: string) => {
      const sql = postgres(url, { onnotice() {} })
      t.after(() => sql.end())
      return sql
    }
    for (const options of [{}, { prepare: false }]) {
      const store = postgresStore({ client: open(transactionMode), schema, notify: false, ...options })
      await rejects(Outbox.writerOnly({ store, logger: false }).start(), {
        code: 'OUTBOX_POOLED_CONNECTION',
        message: /Set "prepare: false" of postgres.js/,
      })
    }
    const store = postgresStore({ client: open(sessionMode), schema, prepare: true })
    await (await Outbox.writerOnly({ store, logger: false }).start()).close()
  })

  it('in transaction mode, calls of a postgres.js that prepares nothing all get answers of their own', async (t) => {
    const { schema, pool } = await newSchema(t, transactionMode)
    const writer = postgresStore({ client: pool, schema, ...unprepared })
    await writer.migrate()
    for (let round = 0; round < scale({ small: 2, full: 10 }); round += 1) {
      await insertRows(writer, sampleRows(40))
      const sql = postgres(transactionMode, { max: 1 + (round % 2), prepare: false, onnotice() {} })
      const store = postgresStore({ client: sql, schema, notify: false })
      // The statement of `paused` has no values. postgres.js would send a claim right behind it.
      const all = Array.from(
        { length: 40 },
        () =>
          [store.controls.paused(), store.claim({ lease: { owner: 'me', ms: 60_000 }, limit: 1 })] as const,
      )
      const paused = await Promise.all(all.map(([each]) => each))
      const claims = await Promise.all(all.map(([, claim]) => claim))
      deepEqual(paused.flat(), [])
      const claimed = claims.flat().map(({ eventId }) => eventId)
      equal(new Set(claimed).size, claimed.length)
      await sql.end()
    }
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
