import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicUlids } from '../../../src/event/ulid.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import type { NewRow, PurgeRequest } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { statementsFor } from '../../../src/stores/postgres/sql/statements.ts'
import { fakeClock } from '../../../src/testing/fake-clock.ts'
import { sampleRow } from '../../../src/testing/store-checks/sample-rows.ts'
import { inProcesses } from '../child-processes.ts'
import { claim, lease, newSchema, newStore, type PgStore, withClient } from './test-store.ts'

const script = new URL('postgres-process.ts', import.meta.url)

const dayMs = 86_400_000
const week: PurgeRequest = { doneOlderThanMs: 7 * dayMs, limit: 500 }

describe('postgres store: time partitions', () => {
  it('are made ahead by migrations and purges, however many processes do so', async (t) => {
    const { store, partitions, pool, schema } = await partitionedStore(t)
    equal((await partitions()).length, 5)
    await store.migrate()
    await Promise.all([store.purge(week), store.purge(week), store.migrate()])
    equal((await partitions()).length, 5)

    const [last] = (await partitions()).filter((name) => !name.endsWith('_default')).slice(-1)
    await pool.query(`drop table "${schema}".${last}`)
    await store.purge(week)
    equal((await partitions()).length, 5)
    ok((await partitions()).includes(last!))
  })

  it('are made ahead by every process that runs, also by one that purges nothing', async (t) => {
    for (const preset of ['writerOnly', 'multiNode'] as const) {
      const { store, partitions, pool, schema } = await partitionedStore(t)
      const clock = fakeClock()
      const listeners = preset === 'writerOnly' ? {} : { listeners: new ListenerRegistry() }
      const outbox = await Outbox[preset]({ store, clock, logger: false, ...listeners } as never).start()
      t.after(() => outbox.close())
      const [last] = (await partitions()).filter((name) => !name.endsWith('_default')).slice(-1)
      await pool.query(`drop table "${schema}".${last}`)
      await clock.advance(3_700_000)
      for (let look = 0; look < 500 && !(await partitions()).includes(last!); look += 1) await delay(10)

      ok((await partitions()).includes(last!), preset)
    }
  })

  it('take events by the time in their ids, and all others into the default one', async (t) => {
    const { store, partitionOf } = await partitionedStore(t)
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '')
    const [now, own, old] = await write(store, [
      ulidAt(Date.now()),
      'order-1',
      ulidAt(Date.now() - 90 * dayMs),
    ])

    deepEqual(await partitionOf(now!), `outbox_event_${today}`)
    deepEqual(await partitionOf(own!), 'outbox_event_default')
    deepEqual(await partitionOf(old!), 'outbox_event_default')
  })

  it('refuse an id that was used before, wherever it is', async (t) => {
    const { store } = await partitionedStore(t)
    const id = ulidAt(Date.now())
    await write(store, [id])

    await rejects(write(store, [id]), { code: 'OUTBOX_DUPLICATE_EVENT_ID', message: new RegExp(id) })
  })

  it('are dropped as a whole when all of their rows are done and old, with their history', async (t) => {
    const { store, partitions, addOld } = await partitionedStore(t)
    const old = await addOld(20)
    const [first] = await write(store, [ulidAt(old), ulidAt(old + 1), ulidAt(old + 2)])
    const failure = { error: 'Error: no', counted: true }
    const rows = await claim(store)
    await store.settle({ settlements: rows.map((row) => ({ row, outcome: { kind: 'done', failure } })) })
    equal((await store.people.attempts(first!)).length, 1)
    await store.purge(week)
    equal((await partitions()).length, 6, 'they are done, but not long ago')

    await agePast(store)
    const { deletedRows } = await store.purge(week)
    deepEqual([deletedRows, (await partitions()).length, await store.people.count({})], [3, 5, 0])
    deepEqual(await store.people.attempts(first!), [])
  })

  it('stay while a row is pending, blocked or dead, and are purged row by row', async (t) => {
    const failure = { error: 'Error: no', counted: true }
    for (const outcome of [
      { kind: 'defer', delayMs: 60_000 },
      { kind: 'block', failure },
      { kind: 'dead', failure },
    ] as const) {
      const { store, partitions, addOld } = await partitionedStore(t)
      const old = await addOld(20)
      await write(store, [ulidAt(old), ulidAt(old + 1)])
      const [first, second] = await claim(store)
      await store.settle({
        settlements: [
          { row: first!, outcome },
          { row: second!, outcome: { kind: 'done' } },
        ],
      })
      await agePast(store)

      const { deletedRows } = await store.purge(week)
      deepEqual(
        [deletedRows, (await partitions()).length, await store.people.count({})],
        [1, 6, 1],
        outcome.kind,
      )
      await store.purge({ ...week, anyOlderThanMs: 7 * dayMs })
      deepEqual([(await partitions()).length, await store.people.count({})], [5, 0], outcome.kind)
    }
  })

  it('hold nobody up: one that is in use is left for the next time', async (t) => {
    const { store, partitions, addOld, pool, table } = await partitionedStore(t)
    await addOld(20)
    await withClient(pool, async (client) => {
      await client.query(`begin; select from ${table} limit 1`)
      await store.purge(week)
      equal((await partitions()).length, 6)
      await client.query('rollback')
    })
    await store.purge(week)

    equal((await partitions()).length, 5)
  })

  it('are not made for events that are in the default one already', async (t) => {
    const { store, partitions, pool, schema } = await partitionedStore(t)
    const [today] = await partitions()
    await pool.query(`drop table "${schema}".${today}`)
    await write(store, [ulidAt(Date.now())])
    await store.migrate()

    ok(!(await partitions()).includes(today!))
    equal((await claim(store)).length, 1)
  })

  it('are looked at one by one where a row is named', async (t) => {
    const { pool, schema, table } = await partitionedStore(t)
    for (let day = 0; day < 4; day += 1) {
      await pool.query(
        `insert into ${table} (event_id, destination, event_type, aggregate_type, payload, available_at, occurred_at, created_at)
         select $1 || lpad(i::text, 16, '0'), '', 'A', 'B', '1', now(), now(), now() from generate_series(1, 3000) as i`,
        [ulidAt(Date.now() + day * dayMs).slice(0, 10)],
      )
    }
    const { settleDone: settle, claim: claimStatement } = statementsFor(
      postgresTables(schema, 'outbox_event', 'day'),
    )
    await withClient(pool, async (client) => {
      const held = [`{${ulidAt(Date.now())}}`, '', '1', 'me']
      await client.query(`prepare settling as ${settle.text}`)
      const literals = held.map((value) => client.escapeLiteral(value)).join(', ')
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, costs off, timing off) execute settling (${literals})`,
      )
      const scans = rows
        .map((row) => row['QUERY PLAN'])
        .filter((line) => /Index Scan.* on outbox_event_/.test(line))
      equal(scans.filter((line) => !line.includes('never executed')).length, 1, scans.join('\n'))

      await client.query(`prepare claiming as ${claimStatement.text}`)
      const plan = await client.query<{ 'QUERY PLAN': string }>(
        `explain (costs off) execute claiming ('me', '1', '-Infinity', '0', '500', null, '')`,
      )
      const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n')
      match(text, /Merge Append/)
      ok(!/Seq Scan on outbox_event_/.test(text), text)
    })
  })

  it('are decided when the table is made', async (t) => {
    const { schema, pool } = await partitionedStore(t)
    const refused = { code: 'OUTBOX_INVALID_OPTION', message: /partitionBy/ }
    await rejects(postgresStore({ client: pool, schema }).migrate(), refused)
    const plain = await newStore(t)

    await rejects(
      postgresStore({ client: plain.pool, schema: plain.schema, partitionBy: 'day' }).migrate(),
      refused,
    )
  })

  it('can be brought in as SQL', async (t) => {
    const { schema, pool } = await newSchema(t)
    const store = postgresStore({ client: pool, schema, partitionBy: 'month' })
    await pool.query(store.schemaSql())
    await write(store, [ulidAt(Date.now()), 'own'])
    await store.migrate()

    equal((await claim(store)).length, 2)
  })

  it('are claimed from by many processes without a row coming twice', async (t) => {
    const { store, schema } = await partitionedStore(t)
    const next = monotonicUlids()
    const ids = Array.from({ length: 500 }, (_, index) => (index % 2 === 0 ? next() : `own-${index}`))
    await write(store, ids)
    const claimed = await inProcesses<string[]>(script, 2, 'claimPartitioned', schema)

    deepEqual(claimed.flat().sort(), [...ids].sort())
  })
})

async function partitionedStore(t: TestContext) {
  const place = await newStore(t, { partitionBy: 'day' })
  const { pool, schema, table } = place

  return {
    ...place,

    partitions: async (): Promise<string[]> => {
      const { rows } = await pool.query<{ name: string }>(
        'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
        [table],
      )
      return rows.map(({ name }) => name.replace(`${schema}.`, ''))
    },

    partitionOf: async ({ eventId }: NewRow): Promise<string> => {
      const { rows } = await pool.query<{ name: string }>(
        `select relname as name from ${table} as event join pg_class on pg_class.oid = event.tableoid where event_id = $1`,
        [eventId],
      )
      return rows[0]!.name
    },

    /** Adds a partition for a day so many days ago, and answers its start. */
    addOld: async (daysAgo: number): Promise<number> => {
      const start = (Math.floor(Date.now() / dayMs) - daysAgo) * dayMs
      const bound = (time: number) => ulidAt(time).slice(0, 10)
      await pool.query(
        `create table "${schema}".outbox_event_old partition of ${table}
         for values from ('${bound(start)}') to ('${bound(start + dayMs)}')`,
      )
      return start
    },
  }
}

/** Lets everything in the table have happened twenty days earlier. */
async function agePast(store: PgStore): Promise<void> {
  const table = /^create table if not exists (\S+)/m.exec(store.schemaSql())![1]!
  await store.transaction((tx) =>
    tx.query(
      `update ${table} set created_at = created_at - interval '20 days', done_at = done_at - interval '20 days'`,
    ),
  )
}

async function write(store: PgStore, ids: readonly string[]): Promise<readonly NewRow[]> {
  const rows = ids.map((eventId) => sampleRow({ eventId }))
  await store.transaction((tx) => store.insert({ tx, rows, lease }))
  return rows
}

function ulidAt(time: number): string {
  return monotonicUlids(() => time)()
}
