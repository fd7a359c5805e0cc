import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { migrationsFor } from '../../../src/stores/postgres/schema/migrations.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { newSchema, processOf, waitingFor, withClient } from './test-store.ts'

it('postgres store: a migration waits for a transaction that is in its way, and others go on meanwhile', async (t) => {
  const { schema, pool } = await newSchema(t)
  const tables = postgresTables(schema, 'outbox_event', undefined)
  await pool.query(`create schema "${schema}"`)
  await pool.query(migrationsFor(tables)[0]!.statements.join(';\n'))
  await pool.query(`insert into ${tables.meta} values ('version', '1')`)
  const store = postgresStore({ client: pool, schema })
  t.after(() => store.close())
  let isMigrated = false
  let migrating: Promise<unknown> | undefined
  await withClient(pool, async (client) => {
    await client.query('begin')
    for (const name of [tables.node, tables.audit]) await client.query(`select from ${name}`)
    migrating = store.migrate().then(() => (isMigrated = true))
    for (let round = 0; round < 3; round += 1) {
      await waitingFor(pool, processOf(client))
      // They wait behind the migration for half a second at most.
      equal((await store.nodes.join({ id: 'old', mode: 'multiNode', ttlMs: 60_000 })).kind, 'joined')
      await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1) }))
    }
    equal(isMigrated, false)
    await client.query('commit')
  })
  await migrating
  equal((await store.reports.living())[0]!.id, 'old')
  equal(await store.people.count({}), 3)
})
