import { equal, match, ok, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { Inbox } from '../../../src/inbox/index.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import type { PostgresStoreOptions } from '../../../src/stores/postgres/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { newRole, newStore } from './test-store.ts'

const page = readFileSync(new URL('../../../../../docs/postgres.md', import.meta.url), 'utf8')
const grants = /^## Rights$.*?^```sql\n(.*?)^```/ms.exec(page)![1]!
const kinds = ['worker', 'writer', 'caller', 'reader'] as const
const notPermitted = { code: '42501' }

describe('postgres store: users with the rights that the page grants them', () => {
  it('a worker delivers, with every preset', async (t) => {
    const { clients, schema } = await withRoles(t)
    for (const preset of ['multiNode', 'singleNode', 'singleWriter', 'ordered', 'partitioned'] as const) {
      const metrics = new SignalMetrics()
      let failing = true
      const outbox = await Outbox[preset]({
        store: postgresStore({ client: clients.worker, schema }),
        listeners: new ListenerRegistry()
          .register('Good', () => {})
          .register('Bad', () => {
            if (failing) throw new Error('no')
          }),
        maxAttempts: 1,
        purge: { retentionMs: 1, deadRetentionMs: 60_000 },
        migrate: false,
        logger: false,
        metrics,
      }).start()
      await outbox.transaction(async () => {
        await outbox.write('Good', 1, { idempotencyKey: preset, orderingKey: 'a' })
        await outbox.write('Good', 1, { idempotencyKey: preset, orderingKey: 'a' })
        await outbox.write('Bad', 1, { orderingKey: 'b' })
      })
      await metrics.until((seen) => seen.dispatchSuccess === 1 && seen.dispatchDead === 1)
      await outbox.pause({ eventType: 'Other' })
      await outbox.resume({ eventType: 'Other' })
      failing = false
      equal(await outbox.deadEvents.replayAll(), 1, preset)
      await metrics.until((seen) => seen.dispatchSuccess === 2)
      await outbox.close()
    }
  })

  it('a writer writes, and can do nothing else', async (t) => {
    const { clients, schema, store } = await withRoles(t)
    const outbox = await Outbox.writerOnly({
      store: postgresStore({ client: clients.writer, schema }),
      migrate: false,
      logger: false,
    }).start()
    await outbox.transaction(async () => {
      await outbox.write('E', 1, { eventId: 'e-1' })
      await outbox.write('E', 1, { idempotencyKey: 'k' })
      await outbox.write('E', 1, { idempotencyKey: 'k' })
      await rejects(outbox.write('E', 1, { eventId: 'e-1' }), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
    })
    const inbox = new Inbox({ outbox, consumer: 'billing' })
    equal(await inbox.process('m-1', () => outbox.write('E', 1)), 'processed')
    equal(await inbox.process('m-1', () => {}, { wait: false }), 'duplicate')
    equal(await inbox.purge(), 0)
    await outbox.close()

    equal(await store.people.count({}), 3)
    await rejects(clients.writer.query(`update "${schema}".outbox_event set status = 1`), notPermitted)
    await rejects(clients.writer.query(`select "${schema}".outbox_event_write('E', '1')`), notPermitted)
  })

  it('a caller calls the function, and a reader reads', async (t) => {
    const { clients, schema } = await withRoles(t)
    await clients.caller.query(`select "${schema}".outbox_event_write('E', '1', idempotency_key => 'k')`)
    await rejects(clients.caller.query(`select from "${schema}".outbox_event`), notPermitted)
    const reading = postgresStore({ client: clients.reader, schema })

    equal(await reading.people.count({}), 1)
    equal((await reading.people.query({ limit: 5 })).length, 1)
    equal((await reading.people.attempts({ eventId: 'e', destination: '' })).length, 0)
    equal((await reading.controls.paused()).length, 0)
    equal((await reading.reports.living()).length, 0)
    equal((await reading.reports.statistics({ lastMs: 60_000, limit: 5 })).length, 0)
    await reading.checkSchema()
    await rejects(reading.claim({ lease: { owner: 'me', ms: 1_000 }, limit: 1 }), notPermitted)
  })

  it('a worker on a table in parts purges row by row, and says in time that it may not make parts', async (t) => {
    const { clients, schema, pool, store } = await withRoles(t, { partitionBy: 'day' })
    const partitioned = postgresStore({ client: clients.worker, schema, partitionBy: 'day' })
    const warnings: string[] = []
    const metrics = new SignalMetrics()
    const start = () =>
      Outbox.multiNode({
        store: partitioned,
        listeners: new ListenerRegistry().registerDefault(() => {}),
        migrate: false,
        metrics,
        logger: {
          debug() {},
          info() {},
          warn: (text) => void warnings.push(text),
          error: (text) => void warnings.push(text),
        },
      }).start()
    const outbox = await start()
    await outbox.transaction(() => outbox.write('E', 1))
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    await outbox.drain()
    await pool.query(`update "${schema}".outbox_event set done_at = done_at - interval '1 day'`)
    equal((await partitioned.purge({ doneOlderThanMs: 60_000, limit: 10 })).deletedRows, 1)
    equal(warnings.length, 0, warnings[0])

    // Nothing is left beyond today.
    for (const name of await partsBeyondToday()) await pool.query(`drop table "${schema}".${name}`)
    const [warning] = await partitioned.upkeep!()
    match(warning!, /"outbox_event" end at 20.*may not make new ones.*store\.migrate\(\) at least once a day/)
    await outbox.transaction(() => outbox.write('E', 1))
    await outbox.close()
    await store.migrate()
    ok((await partsBeyondToday()).length === 3)

    async function partsBeyondToday(): Promise<string[]> {
      const { rows } = await pool.query<{ name: string }>(
        `select relname as name from pg_class join pg_inherits on inhrelid = oid
          where inhparent = $1::regclass and relname not like '%default' order by 1 offset 1`,
        [`"${schema}".outbox_event`],
      )
      return rows.map(({ name }) => name)
    }
  })
})

async function withRoles(t: TestContext, options: Pick<PostgresStoreOptions<never>, 'partitionBy'> = {}) {
  const place = await newStore(t, options)
  const { schema, pool, newPool } = place
  let sql = grants.replace('schema public', `schema "${schema}"`)
  const clients = {} as Record<(typeof kinds)[number], ReturnType<typeof newPool>>
  for (const kind of kinds) {
    const role = await newRole(t, pool, `${schema}_${kind}`)
    sql = sql.replaceAll(`shop_${kind}`, role)
    clients[kind] = newPool({ user: role })
  }
  await pool.query(`begin; set local search_path = "${schema}"; ${sql}; commit`)
  return { ...place, clients }
}
