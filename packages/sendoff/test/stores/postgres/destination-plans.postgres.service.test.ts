import { doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { participantLock } from '../../../src/store/index.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { statementsFor } from '../../../src/stores/postgres/sql/statements.ts'
import { buffersOf, fillingOf, planOf, runPlanOf } from './explained-plan.ts'
import { lease, newStore, withClient } from './test-store.ts'

const fence = [participantLock('me'), 'me']
const claimValues = ['me', '30000', '-Infinity', '0', '500', null, 'kafka']
const endValues = [String(Date.UTC(2100, 0)), '0']
const laneValues = [
  ...[...fence, '01'.repeat(256), '{key-7}', '{}', '-Infinity', '0'],
  ...['2000', '100', '10', '0', 'kafka'],
]
const pollValues = ['relay', 'me', '500', '-Infinity', '0', null, 'kafka']

describe('postgres store: plans of a table with a routing', () => {
  it('statements for a destination go by its indexes, whatever the statistics say', async (t) => {
    const { pool, table, statements } = await routedStore(t)
    await withClient(pool, async (client) => {
      await client.query(`alter table ${table} set (autovacuum_enabled = false)`)
      for (const [moment, change] of moments(table)) {
        await client.query(change)
        for (const mode of ['custom', 'generic']) {
          await client.query(`set plan_cache_mode = force_${mode}_plan`)
          for (const [name, { text }, values] of reads(statements)) {
            const plan = await planOf(client, text, values)
            const at = `${name}, ${moment}, ${mode} plan: ${plan}`
            match(plan, /Index (Only )?Scan using outbox_event_destination on outbox_event/, at)
            doesNotMatch(
              plan,
              /Seq Scan on outbox_event\b|Sort Key: (?!places)|outbox_event_(due|key|written)/,
              at,
            )
            if (name.startsWith('lanes'))
              match(plan, /Index Scan using outbox_event_lane on outbox_event event/, at)
          }
          const left = await planOf(client, statements.acquireLockOf.text, ['relay', 'me', '30000', 'kafka'])
          match(left, /Scan (using|on) outbox_event_destination/, `${moment}, ${mode}: ${left}`)
        }
      }
    })
  })

  it('no statement reads more because events wait for another destination', async (t) => {
    const { store, pool, table, statements } = await routedStore(t)
    await store.locks.acquire({ lock: 'relay', token: 'me', ttlMs: 600_000 })
    await store.locks.acquire({ ...owner, ttlMs: 600_000 })
    await withClient(pool, async (client) => {
      await client.query(`alter table ${table} set (autovacuum_enabled = false)`)
      const pages: Record<string, number[]> = {}
      for (const waiting of [50, 20_000]) {
        await client.query(`truncate ${table}`)
        await client.query(filling(table, waiting, 'mail'))
        await client.query(filling(table, 20, 'kafka'))
        await client.query(`vacuum analyze ${table}`)
        for (const [name, { text }, values] of reads(statements)) {
          await client.query('begin')
          const first = await runPlanOf(client, text, values)
          const read = await buffersOf(client, text, values)
          await client.query('rollback')
          ok(/rows=20 /.test(first), `${name}: ${first}`)
          pages[name] = [...(pages[name] ?? []), read]
        }
      }
      for (const [name, [few, many]] of Object.entries(pages)) {
        ok(many! <= few! + 90, `${name} read ${few} pages, and ${many} with a backlog of another destination`)
      }
    })
  })

  it('a store uses the indexes as soon as they are there, and does without them when they are gone', async (t) => {
    const { store, pool, schema, table } = await newStore(t)
    await pool.query(filling(table, 20, 'mail'))
    await pool.query(filling(table, 10, 'kafka'))
    // Without the index, a claim of types examines rows of other destinations within its window.
    const found = async () => {
      await store.routing.current()
      const request = { lease, limit: 1, window: 10, destination: 'kafka' }
      return (await store.claimTypes(request)).rows.length
    }
    equal(await found(), 0)
    await store.routing.publish({ version: 1, content: '{}' })
    equal(await found(), 0)
    await store.migrate()
    equal(await found(), 1)
    await pool.query(`drop index "${schema}".outbox_event_destination`)
    equal(await found(), 0)
  })
})

const owner = { lock: fence[0]!, token: 'me' }

async function routedStore(t: TestContext) {
  const made = await newStore(t)
  await made.store.routing.publish({ version: 1, content: '{"rules":[],"default":["kafka","mail"]}' })
  await made.store.migrate()
  return { ...made, statements: statementsFor(postgresTables(made.schema, 'outbox_event')) }
}

function reads(statements: ReturnType<typeof statementsFor>) {
  return [
    ['claim', statements.claimOf, claimValues],
    ['claimTypes', statements.claimTypesOf, [...claimValues, ...endValues, '{Order}', '{OrderPlaced}']],
    ['windowEnd', statements.windowEndOf, ['-Infinity', '0', '20', 'kafka']],
    ['poll', statements.pollDueOf, pollValues],
    ['pollRecording', statements.pollDueRecordingOf, [...pollValues, null, null, null, null]],
    ['pollRenewing', statements.pollDueRenewingOf, [...pollValues, '600000']],
    ['lanes', statements.readLanesOf, laneValues],
    ['lanesRenewing', statements.readLanesRenewingOf, [...laneValues, '600000']],
  ] as const
}

function moments(table: string): readonly [name: string, sql: string][] {
  const fewOfKafka = `update ${table} set destination = case when seq % 500 = 0 then 'kafka' else 'mail' end`
  return [
    ['never analyzed', `${fillingOf(table, 5_000, 0, 40)}; ${fewOfKafka}`],
    ['analyzed', `analyze ${table}`],
    [
      'analyzed as all for kafka',
      `update ${table} set destination = 'kafka'; analyze ${table}; ${fewOfKafka}`,
    ],
    ['analyzed as all for mail', `update ${table} set destination = 'mail'; analyze ${table}; ${fewOfKafka}`],
    ['with many done', `${fillingOf(table, 30_000, 1, 40)}; ${fewOfKafka}; analyze ${table}`],
  ]
}

function filling(table: string, count: number, destination: string): string {
  return `${fillingOf(table, count, 0, 20)}; update ${table} set destination = '${destination}' where destination = ''`
}
