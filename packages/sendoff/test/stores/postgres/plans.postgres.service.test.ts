import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { statementsFor } from '../../../src/stores/postgres/sql/statements.ts'
import { buffersOf, fillingOf, moments, planOf } from './explained-plan.ts'
import { claim, newStore, settleDone, withClient, write } from './test-store.ts'

const claimKeysValues = ['me', '30000', '-Infinity', '0', '500', null]
const claimValues = [...claimKeysValues, '']
const claimTypesValues = [...claimValues, String(Date.UTC(2100, 0)), '0', '{Order}', '{OrderPlaced}']
const pollValues = ['relay', 'me', '500', '-Infinity', '0', null, '']
const recordingValues = [...pollValues, null, null, null, null]
const alikeValues = ['{a,b}', '', '1']
const heldValues = ['{a,b}', '{"",""}', '{1,1}', '{me,me}']
const filterValues = [null, null, null, null, null]

describe('postgres store: plans', () => {
  for (const keys of [0, 40]) {
    it(`with ${keys} keys, claims and reads go by their partial index, whatever the statistics say`, async (t) => {
      const { pool, schema, table } = await newStore(t)
      const { claim: claimStatement, claimTypes, pollDue, pollDueRecording, windowEnd } = statementsOf(schema)
      await withClient(pool, async (client) => {
        await client.query(`alter table ${table} set (autovacuum_enabled = false)`)

        for (const [moment, change] of moments(table, keys)) {
          await client.query(change)
          for (const mode of ['custom', 'generic']) {
            await client.query(`set plan_cache_mode = force_${mode}_plan`)
            const plans = [
              await planOf(client, claimStatement.text, claimValues),
              await planOf(client, pollDue.text, pollValues),
              await planOf(client, claimTypes.text, claimTypesValues),
              await planOf(client, windowEnd.text, ['-Infinity', '0', '2000']),
              await planOf(client, pollDueRecording.text, recordingValues),
            ]
            const where = `${moment}, ${mode} plan`
            match(plans[0]!, /Index Scan using outbox_event_due on outbox_event\n/, where)
            match(plans[0]!, /Tid Scan on outbox_event event/, where)
            match(plans[1]!, /Index Scan using outbox_event_due on outbox_event/, where)
            match(plans[2]!, /Index Scan using outbox_event_due on outbox_event\n/, where)
            match(plans[2]!, /Index Cond: .*ROW\(available_at, seq\) <= ROW\(/, where)
            match(plans[2]!, /hashed SubPlan/, where)
            match(plans[3]!, /Index (Only )?Scan using outbox_event_due on outbox_event/, where)
            match(plans[4]!, /Index Scan using outbox_event_due on outbox_event/, where)
            ok(!/Sort Key: event/.test(plans[4]!), `${where}: ${plans[4]!}`)
            for (const plan of plans) ok(!/Seq Scan on outbox_event\b/.test(plan), `${where}: ${plan}`)
          }
        }
      })
    })
  }

  it('settlements, renewals and claims by key go by primary key', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const statements = statementsOf(schema)
    const { settleDone: done, settleDoneOwned, settleDelete, settleDeleteOwned, settle } = statements
    const { renew, release, claimKeys } = statements
    await withClient(pool, async (client) => {
      await client.query(`alter table ${table} set (autovacuum_enabled = false)`)

      for (const [mode, change] of [
        ['custom', 'select'],
        ['generic', 'select'],
        ['custom', `${fillingOf(table, 30_000, 1)}; analyze ${table}`],
        ['generic', 'select'],
      ] as const) {
        await client.query(change)
        await client.query(`set plan_cache_mode = force_${mode}_plan`)
        for (const plan of [
          await planOf(client, done.text, [...alikeValues, 'me']),
          await planOf(client, settleDoneOwned.text, [...alikeValues, 'relay', 'me']),
          await planOf(client, settleDelete.text, [...alikeValues, 'me']),
          await planOf(client, settleDeleteOwned.text, [...alikeValues, 'relay', 'me']),
          await planOf(client, settle.text, ['[]', null, null]),
          await planOf(client, renew.text, [...heldValues, '30000']),
          await planOf(client, release.text, heldValues),
          await planOf(client, claimKeys.text, [...claimKeysValues, '{a}', '{""}', '{1}', '{me}']),
        ]) {
          match(plan, /Index Scan using outbox_event_pkey/, mode)
          ok(!/Seq Scan on outbox_event\b/.test(plan), `${mode}: ${plan}`)
        }
      }
    })
  })

  it('people find dead and pending rows without a look at DONE ones, and purges go by primary key', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const { queryDead, countDead, queryPending, countPending, queryEvents, purge } = statementsOf(schema)
    await withClient(pool, async (client) => {
      await client.query(fillingOf(table, 30_000, 1))
      await client.query(`vacuum analyze ${table}`)
      const page = ['0', '100']

      for (const [text, values, index] of [
        [queryDead.text, ['{3}', ...filterValues, ...page], /outbox_event_attention/],
        [countDead.text, ['{3}', ...filterValues], /outbox_event_attention/],
        [queryPending.text, ['{0,2}', ...filterValues, ...page], /outbox_event_written/],
        [countPending.text, ['{0,2}', ...filterValues], /outbox_event_(written|due)/],
        [queryEvents.text, ['{0,1,2,3}', ...filterValues, ...page, '{a}'], /outbox_event_pkey/],
        [purge.text, ['', '', '500', '1000', null, null, '1000'], /outbox_event_pkey/],
      ] as const) {
        const plan = await planOf(client, text, [...values])
        match(plan, index)
        ok(!/Seq Scan on outbox_event\b/.test(plan), plan)
      }
    })
  })

  it('people find an event by its id with a few pages, however many ids come before and after', async (t) => {
    const { pool, store, table } = await newStore(t)
    await pool.query(fillingOf(table, 60_000, 1))
    await pool.query(`vacuum analyze ${table}`)
    const { rows } = await pool.query(`select event_id from ${table} order by event_id offset 30000 limit 1`)
    const { event_id: eventId } = rows[0] as { event_id: string }
    const asked: [text: string, values: (string | null)[]][] = []
    pool.on('acquire', (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown
      client.query = ((given: string | { readonly text: string }, ...more: unknown[]) => {
        if (typeof given !== 'string') asked.push([given.text, more[0] as (string | null)[]])
        return query(given, ...more)
      }) as never
    })
    for (const order of ['newest', 'oldest'] as const) {
      const found = await store.looks.scan({ filter: { eventId }, order, limit: 50, window: 2_000 })
      deepEqual(
        found.rows.map((row) => row.eventId),
        [eventId],
      )
    }
    const scans = asked.filter(([text]) => text.includes('event_id >= $1'))
    ok(scans.length >= 4)
    await withClient(pool, async (client) => {
      for (const [text, values] of scans) {
        const pages = await buffersOf(client, text, values)
        ok(pages < 20, `${pages} pages: ${text}`)
      }
    })
  })

  it('a claim of rows with room in their page touches no index', async (t) => {
    const { store, pool, schema } = await newStore(t)
    await write(store, 5)
    const rows = await claim(store)
    await store.renew({ rows, lease: { owner: 'test', ms: 30_000 } })
    await store.release(rows)
    const before = await updatesOf(pool, schema)
    await settleDone(store, await claim(store))
    const after = await updatesOf(pool, schema)

    deepEqual(before, { all: 15, hot: 15 })
    deepEqual(after, { all: 25, hot: 20 })
  })

  it('an idle claim and an idle poll of an owner write nothing, not even a number of a transaction', async (t) => {
    const { store, pool, schema } = await newStore(t)
    const { claim: claimStatement, pollDue, pollDueRecording } = statementsOf(schema)
    await store.locks.acquire({ lock: 'relay', token: 'me', ttlMs: 30_000 })
    await write(store, 2, { due: { inMs: 60_000 } })

    equal(await hasWritten(pool, claimStatement.text, claimValues), false)
    equal(await hasWritten(pool, pollDue.text, pollValues), false)
    equal(await hasWritten(pool, pollDueRecording.text, recordingValues), false)
    await write(store, 1)
    equal(await hasWritten(pool, claimStatement.text, claimValues), true)
    equal(await hasWritten(pool, pollDueRecording.text, recordingValues), true)
  })
})

function statementsOf(schema: string) {
  return statementsFor(postgresTables(schema, 'outbox_event'))
}

/** Counted as soon as the sessions that made them are idle for a while, or asked to. */
async function updatesOf(pool: pg.Pool, schema: string): Promise<{ all: number; hot: number }> {
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  for (const client of clients) await client.query('select pg_stat_force_next_flush()')
  for (const client of clients) await client.query('select 1')
  const { rows } = await clients[0]!.query(
    `select n_tup_upd::int as all, n_tup_hot_upd::int as hot
       from pg_stat_user_tables where schemaname = $1 and relname = 'outbox_event'`,
    [schema],
  )
  clients.forEach((client) => client.release())
  return rows[0]
}

async function hasWritten(pool: pg.Pool, sql: string, values: readonly (string | null)[]): Promise<boolean> {
  return withClient(pool, async (client) => {
    await client.query('begin')
    await client.query(sql, [...values])
    const { rows } = await client.query('select pg_current_xact_id_if_assigned() is not null as has')
    await client.query('rollback')
    return rows[0].has
  })
}
