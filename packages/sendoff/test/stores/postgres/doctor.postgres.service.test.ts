import { deepEqual, match } from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it, type TestContext } from 'node:test'
import { debianPostgresServer, postgres } from '../../../../../test/services/servers/postgres/postgres.ts'
import type { PostgresServer } from '../../../../../test/services/servers/postgres/postgres-server.ts'
import {
  type TemporaryFolder,
  temporaryFolder,
} from '../../../../../test/services/machine/temporary-folder.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { codesOf, expectFinding } from '../../fixtures/doctor-codes.ts'
import { startOutbox } from '../../fixtures/outbox-fixture.ts'
import { newRole, newStore } from './test-store.ts'

const skip = !(await postgres.find()) && 'a server of its own needs PostgreSQL on this machine'

describe('the doctor of a PostgreSQL store', { skip }, () => {
  let folder: TemporaryFolder
  let server: PostgresServer
  before(async () => {
    folder = temporaryFolder('doctor')
    server = await debianPostgresServer(folder.path)
  })
  after(async () => {
    await server.stop('immediate')
    folder.remove()
  })
  const opened = (test: TestContext, options?: object) => newStore(test, options, server.url)

  it('finds nothing on a healthy server, and nothing in a table with time partitions', async (test) => {
    deepEqual(await codesOf((await opened(test)).store), [])
    deepEqual(await codesOf((await opened(test, { partitionBy: 'day' })).store), [])
  })

  it('finds a schema that is missing, incomplete, behind, ahead or too new', async (test) => {
    const { store, table, schema, pool } = await opened(test)
    const meta = `"${schema}".outbox_event_meta`
    await pool.query(`update ${meta} set value = '99' where key = 'revision'`)
    await expectFinding(store, 'SCHEMA_AHEAD', 'info')
    await pool.query(`update ${meta} set value = '99' where key = 'oldest_code'`)
    await expectFinding(store, 'SCHEMA_TOO_NEW', 'error')
    await pool.query(`update ${meta} set value = '1' where key in ('revision', 'oldest_code')`)
    const behind = await expectFinding(store, 'SCHEMA_BEHIND', 'warning')
    await pool.query(behind.sql!)
    deepEqual(await codesOf(store), [], 'its SQL is the cure')

    await pool.query(`drop table ${table.replace('event"', 'event_stat"')}`)
    const incomplete = await expectFinding(store, 'SCHEMA_INCOMPLETE', 'error')
    match(incomplete.message, /outbox_event_stat/)
    await expectFinding(postgresStore({ client: pool, schema: 'nowhere' }), 'SCHEMA_MISSING', 'error')
  })

  it('finds that a store and its table are not divided by time in the same way', async (test) => {
    const { schema, pool } = await opened(test, { partitionBy: 'day' })
    await expectFinding(postgresStore({ client: pool, schema }), 'TIME_PARTITIONS_DIFFER', 'error')
  })

  it('finds indexes that are missing, altered or invalid, and its SQL is the cure', async (test) => {
    const { store, schema, table, pool } = await opened(test)
    const cured = async (code: string, severity: 'error' | 'warning', sql: string) => {
      await pool.query(sql)
      const finding = await expectFinding(store, code, severity)
      for (const statement of finding.sql!.split(';\n')) await pool.query(statement)
      deepEqual(await codesOf(store), [])
    }
    const due = `"${schema}".outbox_event_due`
    await cured('INDEX_MISSING', 'error', `drop index ${due}`)
    await cured(
      'INDEX_ALTERED',
      'warning',
      `drop index ${due}; create index outbox_event_due on ${table} (seq)`,
    )
    await cured(
      'INDEX_INVALID',
      'error',
      `update pg_index set indisvalid = false where indexrelid = '${due}'::regclass`,
    )
  })

  it('finds autovacuum that is off, dead rows that pile up, and an index that is nearly empty', async (test) => {
    const { store, schema, table, pool } = await opened(test)
    await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    const off = await expectFinding(store, 'AUTOVACUUM_OFF', 'warning')

    const client = await pool.connect()
    await client.query(`insert into ${table} (event_id, destination, event_type, aggregate_type, available_at, occurred_at, created_at)
                        select n::text, '', 't', 'a', now(), now(), now() from generate_series(1, 110000) n`)
    await client.query(`delete from ${table}`)
    await client.query('select pg_stat_force_next_flush()')
    client.release()
    const behind = await expectFinding(store, 'AUTOVACUUM_BEHIND', 'warning')
    await pool.query(behind.sql!)
    const bloated = await expectFinding(store, 'INDEX_BLOATED', 'warning', { bloatBytes: 100_000 })
    match(bloated.sql!, new RegExp(`reindex index concurrently "${schema}"`))
    await pool.query(off.sql!)
    deepEqual(await codesOf(store), [])
  })

  it('finds a transaction and a replication slot that keep old rows', async (test) => {
    const { store, table, pool, newPool } = await opened(test)
    const holder = await newPool({ application_name: 'nightly dump' }).connect()
    await holder.query(`begin isolation level repeatable read; select from ${table}`)
    const held = await expectFinding(store, 'HORIZON_HELD', 'warning', { longTransactionMs: 0 })
    match(held.message, /nightly dump/)
    deepEqual(await codesOf(store), [], 'it is young by the usual measure')
    const ended = once(holder, 'error')
    await pool.query(held.sql!)
    await ended
    holder.release(true)

    await pool.query(`select pg_create_logical_replication_slot('forgotten', 'pgoutput')`)
    const slot = await expectFinding(store, 'REPLICATION_SLOT_IDLE', 'warning')
    match(slot.message, /forgotten/)
    await pool.query(slot.sql!)
    deepEqual(await codesOf(store), [])
  })

  it('needs no right but to read, and says what it could not read', async (test) => {
    const { schema, pool, newPool } = await opened(test)
    const role = await newRole(test, pool, 'reader')
    const reading = postgresStore({ client: newPool({ user: role }), schema })
    const findings = await codesOf(reading)
    deepEqual(findings, ['RIGHTS_MISSING'])

    await pool.query(
      `grant usage on schema "${schema}" to ${role}; grant select on all tables in schema "${schema}" to ${role}`,
    )
    const sessions = await expectFinding(reading, 'RIGHTS_MISSING', 'info')
    match(sessions.message, /sessions of other users/)
    await pool.query(`grant pg_read_all_stats to ${role}`)
    deepEqual(await codesOf(reading), [])
  })

  it('finds settings that lose events or slow them down, and a start logs the serious ones', async (test) => {
    const { schema, table, pool, newPool, store } = await opened(test)
    const session = postgresStore({
      client: newPool({
        options: '-c synchronous_commit=off -c default_transaction_isolation=serializable',
      }),
      schema,
    })
    await expectFinding(session, 'DURABILITY_REDUCED', 'warning')
    await expectFinding(session, 'ISOLATION_TOO_HIGH', 'warning')

    await pool.query(`alter table ${table} set unlogged`)
    const unlogged = await expectFinding(store, 'TABLE_UNLOGGED', 'error')
    await pool.query(unlogged.sql!)

    await pool.query('alter system set fsync = off')
    await pool.query('alter system set autovacuum = off')
    const { rows } = await pool.query<{ max_connections: string }>('show max_connections')
    await pool.query(
      `alter system set superuser_reserved_connections = ${Number(rows[0]!.max_connections) - 9}`,
    )
    // The pools of this test lose their connections.
    await server.restart('fast')
    await expectFinding(store, 'DURABILITY_OFF', 'error')
    await expectFinding(store, 'AUTOVACUUM_OFF', 'warning')
    const { log } = await startOutbox(test, postgresStore({ client: newPool({ max: 3 }), schema }))
    match(log.join('\n'), /warn: The server runs with fsync = off.* \(DURABILITY_OFF\)/)

    const clients = newPool({ max: 8 })
    const held = await Promise.all(Array.from({ length: 8 }, () => clients.connect()))
    try {
      await expectFinding(store, 'CONNECTIONS_SCARCE', 'warning')
    } finally {
      held.forEach((client) => client.release())
    }
  })
})
