import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { driverOf } from '../../../src/stores/postgres/drivers/driver-of.ts'
import { buildOnline } from '../../../src/stores/postgres/schema/online-index.ts'
import { migrate, migrationsFor } from '../../../src/stores/postgres/schema/migrations.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { killedBefore } from '../sql/growing-schema-suite.ts'
import { killable } from './killable-driver.ts'
import { newStore, processOf, waitingFor, withClient, write } from './test-store.ts'

const index = {
  name: 'outbox_event_tenant',
  table: 'outbox_event',
  on: '(tenant_id) where tenant_id is not null',
}

describe('postgres store: an index that is built online', () => {
  it('is built beside rows, and a second run changes nothing', async (t) => {
    const { store, pool, schema, tables } = await newTable(t)
    await write(store, 3)
    await buildOnline(driverOf(pool, { prepare: true }), tables, index)
    const [first] = await indexes(pool, schema, index.name)
    equal(first?.valid, true)

    await buildOnline(driverOf(pool, { prepare: true }), tables, index)
    deepEqual(await indexes(pool, schema, index.name), [first])
  })

  it('replaces one that a crash left INVALID', async (t) => {
    const { store, pool, schema, tables } = await newTable(t)
    await write(store, 2)
    // Rows of one type break a unique index, which stays behind INVALID.
    await rejects(
      pool.query(`create unique index concurrently ${index.name} on "${schema}".outbox_event (event_type)`),
      { code: '23505' },
    )
    equal((await indexes(pool, schema, index.name))[0]?.valid, false)
    await buildOnline(driverOf(pool, { prepare: true }), tables, index)

    const [built] = await indexes(pool, schema, index.name)
    equal(built?.valid, true)
    ok(built.definition.includes('tenant_id'))
  })

  it('is built by the next process if the session of the first is ended halfway', async (t) => {
    const { store, pool, schema, tables } = await newTable(t)
    await write(store, 2)
    await withClient(pool, async (client) => {
      // The build waits for transactions that might not see the index.
      await client.query(`begin; update "${schema}".outbox_event set tenant_id = 'x'`)
      const building = buildOnline(driverOf(pool, { prepare: true }), tables, index)
      const session = await waitingFor(pool, processOf(client))
      const refused = rejects(building)
      await pool.query('select pg_terminate_backend($1)', [session])
      await refused
      await client.query('commit')
    })
    equal((await indexes(pool, schema, index.name))[0]?.valid, false)

    await buildOnline(driverOf(pool, { prepare: true }), tables, index)
    equal((await indexes(pool, schema, index.name))[0]?.valid, true)
  })

  it('is built part by part on a table in time partitions, and later parts have it', async (t) => {
    const { store, pool, schema, tables } = await newTable(t, { partitionBy: 'day' })
    await write(store, 3)
    const parts = await partNames(pool, schema)
    ok(parts.length > 2)
    await buildOnline(driverOf(pool, { prepare: true }), tables, index)
    equal((await indexes(pool, schema, index.name))[0]?.valid, true)
    for (const part of parts)
      ok((await validOn(pool, schema, part)).some((each) => each.includes('(tenant_id)')))

    await pool.query(`drop table "${schema}".${parts.at(-1)}`)
    await store.migrate()
    deepEqual(await partNames(pool, schema), parts)
    for (const part of parts)
      ok((await validOn(pool, schema, part)).some((each) => each.includes('(tenant_id)')))
    await write(store, 1)
  })

  it('resumes on a table in time partitions of which one has an INVALID part', async (t) => {
    const { store, pool, schema, tables } = await newTable(t, { partitionBy: 'day' })
    await write(store, 2)
    const driver = driverOf(pool, { prepare: true })
    await buildOnline(driver, tables, index)
    // As if it had broken off: the whole is gone, and the part that has rows is INVALID.
    const part = 'outbox_event_default'
    const [own] = await partIndexes(pool, schema, part)
    await pool.query(`drop index "${schema}".${index.name}`)
    await rejects(pool.query(`create unique index concurrently ${own} on "${schema}".${part} (event_type)`), {
      code: '23505',
    })
    await buildOnline(driver, tables, index)
    equal((await indexes(pool, schema, index.name))[0]?.valid, true)
  })

  it('is resumed if the migration that builds it is killed before any of its statements', async (t) => {
    for (let count = 0; ; count += 1) {
      const { store, pool, schema, tables } = await newTable(t, count % 2 === 0 ? {} : { partitionBy: 'day' })
      await write(store, 1)
      await pool.query(`update "${schema}".outbox_event_meta set value = '1' where key = 'revision'`)
      const migrations = migrationsFor(tables).map((step) => ({
        ...step,
        indexes: step.revision === 2 ? [index] : [],
      }))
      const killer = killedBefore(count)
      const driver = driverOf(pool, { prepare: true })
      await migrate(killable(driver, killer), tables, {}, migrations).catch(() => {})
      await pool.query(`update "${schema}".outbox_event_lock set until = now() where name = 'migration'`)
      await store.checkSchema()
      await migrate(driver, tables, {}, migrations)

      equal((await indexes(pool, schema, index.name))[0]?.valid, true, `killed before statement ${count}`)
      if (!killer.wasKilled) return
    }
  })

  it('lets writers go on while another transaction is in its way', async (t) => {
    const { store, pool, schema, tables } = await newTable(t, { partitionBy: 'day' })
    await write(store, 1)
    let building: Promise<void> | undefined
    await withClient(pool, async (client) => {
      await client.query(`begin; update "${schema}".outbox_event set tenant_id = 'x'`)
      building = buildOnline(driverOf(pool, { prepare: true }), tables, index)
      await waitingFor(pool, processOf(client))
      // It waits behind the build for half a second at most.
      await write(store, 1)
      await client.query('commit')
    })
    await building
    equal((await indexes(pool, schema, index.name))[0]?.valid, true)
  })
})

async function newTable(t: Parameters<typeof newStore>[0], options: { partitionBy?: 'day' } = {}) {
  const place = await newStore(t, options)
  return { ...place, tables: postgresTables(place.schema, 'outbox_event', options.partitionBy) }
}

async function indexes(pool: pg.Pool, schema: string, name: string) {
  const { rows } = await pool.query<{ oid: number; valid: boolean; definition: string }>(
    `select indexrelid as oid, indisvalid as valid, pg_get_indexdef(indexrelid) as definition
       from pg_index join pg_class on pg_class.oid = indexrelid
      where relnamespace = $1::regnamespace and relname = $2`,
    [schema, name],
  )
  return rows
}

async function validOn(pool: pg.Pool, schema: string, part: string): Promise<string[]> {
  const { rows } = await pool.query<{ definition: string }>(
    `select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = $1::regclass and indisvalid`,
    [`"${schema}".${part}`],
  )
  return rows.map(({ definition }) => definition)
}

async function partIndexes(pool: pg.Pool, schema: string, part: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_index join pg_class on oid = indexrelid
      where indrelid = $1::regclass and pg_get_indexdef(indexrelid) like '%(tenant_id)%'`,
    [`"${schema}".${part}`],
  )
  return rows.map(({ name }) => name)
}

async function partNames(pool: pg.Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class join pg_inherits on inhrelid = oid
      where inhparent = $1::regclass and relname not like '%default' order by 1`,
    [`"${schema}".outbox_event`],
  )
  return rows.map(({ name }) => name)
}
