import { deepEqual, doesNotMatch, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { participantLock } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { statementsFor } from '../../../src/stores/postgres/sql/statements.ts'
import { costOf, fillingOf, moments, planOf, runPlanOf } from './explained-plan.ts'
import { newStore, type PgStore, withClient } from './test-store.ts'

const token = 'me'
const fence = [participantLock(token), token]
const allPartitions = '01'.repeat(256)

describe('postgres store: plans of lanes', () => {
  for (const keys of [1, 40, 5_000]) {
    it(`with ${keys} keys, rows are found and read by their indexes, whatever the statistics say`, async (t) => {
      const { pool, schema, table } = await newStore(t)
      const { readLanes, readLanesRenewing, readAll, blockedKeys, retryKey, skipKey } = statementsOf(schema)
      await withClient(pool, async (client) => {
        await client.query(`alter table ${table} set (autovacuum_enabled = false)`)

        for (const [moment, change] of moments(table, keys)) {
          await client.query(change)
          for (const mode of ['custom', 'generic']) {
            await client.query(`set plan_cache_mode = force_${mode}_plan`)
            const at = `${moment}, ${mode} plan`
            for (const plan of [
              await planOf(client, readLanes.text, laneValues({})),
              await planOf(client, readLanesRenewing.text, [...laneValues({}), '30000']),
            ]) {
              match(
                windowOf(plan),
                /Index Scan using outbox_event_due on outbox_event\n/,
                `${at}: ${windowOf(plan)}`,
              )
              doesNotMatch(windowOf(plan), /Sort/, `${at}: ${windowOf(plan)}`)
              match(plan, laneOfKey, `${at}: ${plan}`)
              match(plan, /Index Scan using outbox_event_pkey on outbox_event event_1\n/, `${at}: ${plan}`)
              doesNotMatch(plan, wholeTable, `${at}: ${plan}`)
            }
            const all = await planOf(client, readAll.text, [...fence, '0', '500'])
            match(all, /Index Scan using outbox_event_written on outbox_event event\n/, `${at}: ${all}`)
            doesNotMatch(all, wholeTable, `${at}: ${all}`)
            for (const plan of [
              await planOf(client, blockedKeys.text, ['', '50', '', 'park']),
              await planOf(client, retryKey.text, ['key-0', '']),
              await planOf(client, skipKey.text, ['key-0', '', 'no']),
            ]) {
              match(plan, /Index (Only )?Scan using outbox_event_key/, `${at}: ${plan}`)
              doesNotMatch(plan, wholeTable, `${at}: ${plan}`)
            }
          }
        }
      })
    })
  }

  it('a look for rows is planned once, and not anew for what is asked for', async (t) => {
    const { newPool, schema, table } = await newStore(t)
    const pool = newPool({ max: 1 })
    const store = postgresStore({ client: pool, schema })
    t.after(() => store.close())
    await takePart(store)
    await pool.query(`${fillingOf(table, 2_000, 0, 40)}; analyze ${table}`)
    const owner = { lock: participantLock(token), token }
    const bounds = { window: 100, limit: 100, perKey: 4 }
    for (let look = 0; look < 12; look += 1) {
      const except = [`key-${look}`]
      await store.lanes.read({ owner, partitions: [look], keys: [], except, ...bounds })
      await store.lanes.readAll({ owner, limit: 10, afterSeq: look * 10 })
    }
    const { rows } = await pool.query<{ custom: number }>(
      `select custom_plans::integer as custom from pg_prepared_statements where name ~ '_read(Lanes|All)_'`,
    )

    deepEqual(rows, [{ custom: 5 }, { custom: 5 }])
  })

  it('no more is read than is asked for, of a key with many rows and of many rows in front of others', async (t) => {
    const { store, pool, schema, table } = await newStore(t)
    await takePart(store)
    const { readLanes } = statementsOf(schema)
    await withClient(pool, async (client) => {
      await client.query(fillingOf(table, 5_000, 1, 2))
      await client.query(fillingOf(table, 20_000, 0, 2))
      await client.query(`analyze ${table}; set plan_cache_mode = force_generic_plan`)

      const lane = await runPlanOf(
        client,
        readLanes.text,
        laneValues({ keys: '{key-1}', window: 0, limit: 0 }),
      )
      match(lane, /Index Scan using outbox_event_key on outbox_event event \(actual rows=10 loops=1\)/)
      match(lane, /Index Scan using outbox_event_due on outbox_event \(never executed\)/)

      const found = await runPlanOf(client, readLanes.text, laneValues({ limit: 5 }))
      match(found, /Index Scan using outbox_event_due on outbox_event \(actual rows=5 loops=1\)/)
      match(found, /Index Scan using outbox_event_key on outbox_event event \(actual rows=10 loops=2\)/)

      const passed = await runPlanOf(client, readLanes.text, laneValues({ except: '{key-0,key-1}' }))
      match(passed, /Index Scan using outbox_event_due on outbox_event \(actual rows=2000 loops=1\)/)
      match(passed, /hashed SubPlan/)
      doesNotMatch(passed, /Sort Key/)
    })
  })

  it('blocked keys are found without a look at the rows behind them', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const { blockedKeys } = statementsOf(schema)
    await withClient(pool, async (client) => {
      await client.query(fillingOf(table, 20_000, 0, 4))
      await client.query(
        `update ${table} set blocked_at = clock_timestamp() where seq <= 2; analyze ${table}`,
      )
      const plan = await runPlanOf(client, blockedKeys.text, ['', '50', '', 'park'])

      for (const [, rows, loops] of plan.matchAll(
        /outbox_event_key on outbox_event.*rows=(\d+) loops=(\d+)/g,
      )) {
        match(`${rows} ${loops}`, /^1 \d$|^1001 2$/)
      }
    })
  })

  it('what a vanished owner held is found without a look at the others', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const { acquireLock, endShares } = statementsOf(schema)
    await withClient(pool, async (client) => {
      for (const [moment, change] of moments(table, 40)) {
        await client.query(change)
        for (const mode of ['custom', 'generic']) {
          await client.query(`set plan_cache_mode = force_${mode}_plan`)
          const at = `${moment}, ${mode} plan`
          for (const plan of [
            await planOf(client, acquireLock.text, [...fence, '30000', '']),
            await planOf(client, endShares.text, []),
          ]) {
            match(plan, /outbox_event_written/, `${at}: ${plan}`)
            doesNotMatch(plan, /Seq Scan on outbox_event\b/, `${at}: ${plan}`)
          }
        }
      }
    })
  })

  it('a takeover is not taken for dear, however many rows are pending', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const { acquireLock, endShares } = statementsOf(schema)
    await withClient(pool, async (client) => {
      await client.query(fillingOf(table, 60_000, 0, 40))
      await client.query(`analyze ${table}`)
      await client.query('set plan_cache_mode = force_generic_plan')

      ok((await costOf(client, acquireLock.text, [...fence, '30000', ''])) < 500)
      ok((await costOf(client, endShares.text, [])) < 500)
    })
  })

  it('settlements of partitions go by primary key', async (t) => {
    const { pool, schema, table } = await newStore(t)
    const { settleDoneShared, settleDeleteShared, settle } = statementsOf(schema)
    await withClient(pool, async (client) => {
      await client.query(fillingOf(table, 30_000, 1, 40))
      await client.query(`vacuum analyze ${table}`)
      const values = ['{a,b}', '', '1', ...fence, `{${'1,'.repeat(255)}1}`, '256']

      for (const mode of ['custom', 'generic']) {
        await client.query(`set plan_cache_mode = force_${mode}_plan`)
        for (const plan of [
          await planOf(client, settleDoneShared.text, values),
          await planOf(client, settleDeleteShared.text, values),
          await planOf(client, settle.text, ['[]', ...fence]),
        ]) {
          match(plan, /Index Scan using outbox_event_pkey/, mode)
          doesNotMatch(plan, wholeTable, mode)
        }
      }
    })
  })
})

const laneOfKey =
  /-> +Index Scan using outbox_event_key on outbox_event event\n +Index Cond: \(ordering_key = lane.key\)/

const wholeTable = /(Seq|Bitmap Heap) Scan on outbox_event\b/

function windowOf(plan: string): string {
  return plan.slice(plan.indexOf('CTE looked'), plan.indexOf('CTE found'))
}

function statementsOf(schema: string) {
  return statementsFor(postgresTables(schema, 'outbox_event'))
}

async function takePart(store: PgStore): Promise<void> {
  await store.locks.acquire({ lock: participantLock(token), token, ttlMs: 60_000 })
}

function laneValues({ keys = '{}', except = '{}', window = 2_000, limit = 500 }): string[] {
  const place = ['-Infinity', '0']
  return [...fence, allPartitions, keys, except, ...place, String(window), String(limit), '10', '0', '']
}
