import { driverOf } from '../../../src/stores/postgres/drivers/driver-of.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { isUsable } from '../../../src/stores/schema-revision.ts'
import { migrate, migrationsFor, storedSchema } from '../../../src/stores/postgres/schema/migrations.ts'
import { postgresTables } from '../../../src/stores/postgres/schema/postgres-tables.ts'
import { addTimePartitions } from '../../../src/stores/postgres/schema/time-partition-upkeep.ts'
import { type GrowingStore, growingSchemaSuite, killedBefore } from '../sql/growing-schema-suite.ts'
import { killable } from './killable-driver.ts'
import { newSchema } from './test-store.ts'

for (const options of [{}, { partitionBy: 'day' }] as const) {
  const name = `postgres store${'partitionBy' in options ? ' in time partitions' : ''}`
  growingSchemaSuite(name, async (t) => {
    const { schema, pool } = await newSchema(t)
    const tables = postgresTables(schema, 'outbox_event', 'partitionBy' in options ? 'day' : undefined)
    await pool.query(`create schema "${schema}"`)
    await pool.query(migrationsFor(tables)[0]!.statements.join(';\n'))
    await pool.query(`insert into ${tables.meta} values ('version', '1')`)
    await addTimePartitions(driverOf(pool, { prepare: true }), tables)
    const store = postgresStore({ client: pool, schema, ...options })
    t.after(() => store.close())

    return {
      store: store as unknown as GrowingStore,
      metaTable: tables.meta,
      keyColumn: 'key',
      run: async (sql) => void (await pool.query(sql)),
      async meta() {
        const { rows } = await pool.query<{ key: string; value: string }>(`select * from ${tables.meta}`)
        return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
      },
      async shape() {
        const { rows } = await pool.query<{ text: string }>(
          `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
                  || coalesce(collation_name, '') || ' ' || coalesce(column_default, '') as text
             from information_schema.columns where table_schema = $1
            union all
           select replace(indexdef, $1, '') || ' ' || indisvalid
             from pg_indexes join pg_index on indexrelid = format('%I.%I', schemaname, indexname)::regclass
            where schemaname = $1
            order by 1`,
          [schema],
        )
        // Time partitions come with the days. Their indexes have any names.
        return rows
          .map(({ text }) => text.replace(/INDEX \S+ ON \.outbox_event_default /, 'INDEX ON default '))
          .filter((text) => !/outbox_event_\d/.test(text))
          .sort()
      },
      async migrateUntilKilled(count) {
        const killer = killedBefore(count)
        await migrate(killable(driverOf(pool, { prepare: true }), killer), tables).catch(() => {})
        await pool.query(`update ${tables.lock} set until = now() where name = 'migration'`)
        return killer.wasKilled
      },
    }
  })
}

it('postgres store: a schema that another process migrates while it is read is usable', async (t) => {
  const { schema, pool } = await newSchema(t)
  const tables = postgresTables(schema, 'outbox_event', undefined)
  await pool.query(`create schema "${schema}"`)
  await pool.query(migrationsFor(tables)[0]!.statements.join(';\n'))
  await pool.query(`insert into ${tables.meta} values ('version', '1')`)
  const store = postgresStore({ client: pool, schema })
  t.after(() => store.close())
  const driver = driverOf(pool, { prepare: true })
  const run: typeof driver.run = async (statement, values) => {
    if (statement.text.includes('select key, value')) await store.migrate()
    return driver.run(statement, values)
  }
  equal(isUsable(await storedSchema({ ...driver, run }, tables)), true)
})
