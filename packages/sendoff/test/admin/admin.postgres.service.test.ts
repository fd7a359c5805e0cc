import { deepEqual, equal, ok } from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { outboxAdmin } from '../../src/admin/index.ts'
import { EventStatus } from '../../src/store/event-status.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { until } from '../fixtures/outbox-fixture.ts'
import { newRole, newStore } from '../stores/postgres/test-store.ts'
import { kill, testAdmin } from './admin-behaviour.ts'
import { testOnlyLooking } from './only-looking.ts'

const pool = new pg.Pool({ connectionString: process.env['POSTGRES_URL']! })
const schema = `admin_${process.pid}`
before(() => pool.query(`create schema ${schema}`))
after(async () => {
  await pool.query(`drop schema ${schema} cascade`)
  await pool.end()
})
let tables = 0

testAdmin('PostgreSQL', async () => {
  const store = postgresStore({ client: pool, schema, table: `t${++tables}`, notify: false })
  await store.migrate()
  return store
})

describe('admin on PostgreSQL', () => {
  it('looks as a role that may only read, and says so when it should act', async (t) => {
    const { store, schema: own, pool: admins, newPool } = await newStore(t)
    const role = await newRole(t, admins, `reader_${process.pid}`)
    await admins.query(
      `grant usage on schema "${own}" to ${role}; grant select on all tables in schema "${own}" to ${role}`,
    )
    await testOnlyLooking(store, async () => postgresStore({ client: newPool({ user: role }), schema: own }))
  })

  it('a plan whose process is killed is resumed by another: each event once, at the same pace', async (t) => {
    const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
    const [count, ratePerSecond] = isFull ? [100_000, 4_000] : [3_000, 375]
    const { store, schema: own } = await newStore(t)
    for (let left = count; left > 0; left -= 1_000) await kill(store, Math.min(left, 1_000), 'Error: no')
    const script = new URL('./admin-process.ts', import.meta.url)
    const child = fork(script, [own, String(ratePerSecond), String(count / 2)])
    deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
    // The server ends what it has got, and then the sessions.
    const sessions = 'select 1 from pg_stat_activity where application_name = $1'
    await until(async () => (await pool.query(sessions, [own])).rowCount === 0)

    const admin = outboxAdmin({ store }).as('bob')
    const [before] = (await admin.audit.list()).entries
    const { id } = before!
    ok(before!.affected >= count / 2 && before!.affected < count * 0.75)
    deepEqual([before!.state, before!.actor], ['running', 'ann'])
    const begun = performance.now()
    const result = await admin.resumeRun(id)
    const seconds = (performance.now() - begun) / 1_000
    const pace = (result.acted - before!.affected) / seconds

    deepEqual([result.state, result.acted, result.id], ['done', count, id])
    t.diagnostic(`${pace.toFixed(0)} events per second of ${ratePerSecond}`)
    ok(pace < ratePerSecond * 1.05, `${pace.toFixed(0)} per second, not ${ratePerSecond}`)
    // A busy machine may be slower.
    if (isFull) ok(pace > ratePerSecond * 0.95, `${pace.toFixed(0)} per second, not ${ratePerSecond}`)
    equal(await store.people.count({ status: [EventStatus.NEW] }), count)
    const fences = await store.people.query({ limit: count })
    ok(fences.every(({ deliveries }) => deliveries === fences[0]!.deliveries))
  })
})
