import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type pg from 'pg'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { codesOf } from '../../fixtures/doctor-codes.ts'
import { SignalMetrics } from '../../fixtures/signal-metrics.ts'
import { newRole, newStore } from './test-store.ts'

const ofTenant = `using (tenant_id = current_setting('shop.tenant', true))`

describe('postgres store: row-level security', () => {
  it('a worker that might not see events refuses to start, and the message has the policy that helps', async (t) => {
    const { client, pool, schema, table, user } = await withSecurity(t)
    const expected = { code: 'OUTBOX_ROWS_HIDDEN', message: /never delivered.*create policy/s }
    await rejects(worker(client, schema), expected)

    await pool.query(`create policy tenant on ${table} ${ofTenant}`)
    await rejects(worker(client, schema), expected)
    const hidden = ['ROWS_HIDDEN']
    const codes = await codesOf(postgresStore({ client, schema }))
    deepEqual(
      codes.filter((code) => code === 'ROWS_HIDDEN'),
      hidden,
    )

    // A policy of another user, and one that does not let this user delete, do not help.
    await pool.query(`create policy other on ${table} to pg_monitor using (true)`)
    await pool.query(`create policy reading on ${table} for select to ${user} using (true)`)
    await rejects(worker(client, schema), expected)
  })

  it('a worker delivers with the policy that the message names, beside policies of other users', async (t) => {
    const { client, pool, schema, table } = await withSecurity(t)
    await pool.query(`create policy tenant on ${table} ${ofTenant}`)
    const { message } = await worker(client, schema).then(
      () => ({ message: '' }),
      (error: Error) => error,
    )
    await pool.query(/create policy .*;/.exec(message)![0])

    const metrics = new SignalMetrics()
    const outbox = await worker(client, schema, metrics)
    await outbox.transaction(() => outbox.write('E', 1, { tenantId: 'acme' }))
    await metrics.until(({ dispatchSuccess }) => dispatchSuccess === 1)
    await outbox.close()

    // A restrictive policy takes away what the others give.
    await pool.query(`create policy narrowing on ${table} as restrictive ${ofTenant}`)
    await rejects(worker(client, schema), { code: 'OUTBOX_ROWS_HIDDEN' })
  })

  it('hides a whole schema: no process takes it for a missing one, and the message has all policies', async (t) => {
    const { client, pool, schema, store } = await withSecurity(t)
    const tables = await tablesOf(pool, schema)
    for (const each of tables) await pool.query(`alter table ${each} enable row level security`)
    const hidden = postgresStore({ client, schema })
    const writer = () => Outbox.writerOnly({ store: postgresStore({ client, schema }), logger: false })
    const expected = { code: 'OUTBOX_ROWS_HIDDEN' }

    await rejects(worker(client, schema), expected)
    await rejects(writer().start(), expected)
    await rejects(hidden.checkSchema(), expected)
    const codes = await codesOf(hidden)
    ok(codes.includes('ROWS_HIDDEN') && !codes.includes('SCHEMA_MISSING'), codes.join())
    const { message } = await hidden.migrate().then(
      () => ({ message: '' }),
      (error: Error) => error,
    )
    const policies = message.match(/create policy .*;/g) ?? []
    equal(policies.length, tables.length)
    for (const policy of policies) await pool.query(policy)

    await (await writer().start()).close()
    await (await worker(client, schema)).close()
    await store.migrate()
  })

  it('is noticed if the owner is not exempt, and on a schema that is older than the code', async (t) => {
    const { client, pool, schema, store, table, user } = await withSecurity(t)
    await pool.query(`update "${schema}".outbox_event_meta set value = '3' where key = 'revision'`)
    await rejects(worker(client, schema), { code: 'OUTBOX_ROWS_HIDDEN' })
    await store.migrate()

    for (const each of await tablesOf(pool, schema)) {
      await pool.query(`alter table ${each} owner to ${user}`)
      await pool.query(`alter table ${each} enable row level security`)
    }
    await (await worker(client, schema)).close()
    await pool.query(`alter table ${table} force row level security`)
    await rejects(worker(client, schema), { code: 'OUTBOX_ROWS_HIDDEN' })
    await pool.query(`alter table "${schema}".outbox_event_meta force row level security`)
    await rejects(postgresStore({ client, schema }).migrate(), { code: 'OUTBOX_ROWS_HIDDEN' })
  })

  it('does not concern the owner, a user with bypassrls, and a process that only writes', async (t) => {
    const { client, pool, schema, table, user, store } = await withSecurity(t)
    await (await worker(pool, schema)).close()

    await pool.query(
      `create policy writing on ${table} for insert to ${user} with check (tenant_id = 'acme')`,
    )
    await pool.query(`create policy reading on ${table} for select to ${user} using (tenant_id = 'acme')`)
    const writer = await Outbox.writerOnly({
      store: postgresStore({ client, schema }),
      migrate: false,
      logger: false,
    }).start()
    await writer.transaction(() => writer.write('E', 1, { tenantId: 'acme' }))
    await rejects(
      writer.transaction(() => writer.write('E', 1, { tenantId: 'other' })),
      { code: '42501' },
    )
    await writer.close()
    equal(await store.people.count({}), 1)

    await pool.query(`alter role ${user} bypassrls`)
    await (await worker(client, schema)).close()
  })
})

/** A table with row-level security and without a policy, and a user that may do everything else. */
async function withSecurity(t: TestContext) {
  const place = await newStore(t)
  const { pool, schema, table, newPool } = place
  const user = await newRole(t, pool, `${schema}_worker`)
  await pool.query(`grant usage on schema "${schema}" to ${user}`)
  await pool.query(`grant all on all tables in schema "${schema}" to ${user}`)
  await pool.query(`alter table ${table} enable row level security`)
  return { ...place, user, client: newPool({ user }) }
}

async function tablesOf(pool: pg.Pool, schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1`,
    [schema],
  )
  return rows.map(({ name }) => name)
}

function worker(client: pg.Pool, schema: string, metrics = new SignalMetrics()) {
  const listeners = new ListenerRegistry().registerDefault(() => {})
  const store = postgresStore({ client, schema })
  return Outbox.multiNode({ store, listeners, migrate: false, logger: false, metrics }).start()
}
