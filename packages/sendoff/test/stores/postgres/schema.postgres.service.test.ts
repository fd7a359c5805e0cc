import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { ListenerRegistry } from '../../../src/route/listener-registry.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { claim, newSchema, newStore, write } from './test-store.ts'

const listeners = new ListenerRegistry()

describe('postgres store: bringing the schema in', () => {
  it('the SQL of the schema can be run again, also beside rows, and changes nothing then', async (t) => {
    for (const options of [{}, { partitionBy: 'day' }] as const) {
      const { schema, pool } = await newSchema(t)
      const store = postgresStore({ client: pool, schema, ...options })
      await pool.query(store.schemaSql())
      await write(store, 2)
      await pool.query(store.schemaSql())
      await store.migrate()
      await pool.query(store.schemaSql())

      equal((await claim(store)).length, 2)
    }
  })

  it('what was dropped by hand is made anew, whatever is left', async (t) => {
    const { schema, pool, store } = await newStore(t)
    const { rows } = await pool.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = $1 order by 1',
      [schema],
    )
    equal(rows.length, 12)
    for (const { name } of rows) {
      await pool.query(`drop table "${schema}"."${name}"`)
      await store.migrate()
      await write(store, 1)
      await claim(store)
      equal((await pool.query(`select "${schema}".outbox_event_write('E', '1')`)).rowCount, 1, name)
    }
    // Everything at once, but for the function.
    for (const { name } of rows) await pool.query(`drop table "${schema}"."${name}"`)
    await store.migrate()
    await write(store, 1)
    equal(await store.people.count({}), 1)

    await pool.query(`drop function "${schema}".outbox_event_write`)
    await store.migrate()
    equal((await pool.query(`select "${schema}".outbox_event_write('E', '1')`)).rowCount, 1)
    const { rows: partitions } = await pool.query(
      `select count(*)::integer as count from "${schema}".outbox_event_partition`,
    )
    deepEqual(partitions, [{ count: 256 }])
  })

  it('a start that may create nothing says what is missing, and which call makes it', async (t) => {
    const { schema, pool } = await newSchema(t)
    const store = postgresStore({ client: pool, schema })
    const start = () => Outbox.multiNode({ store, listeners, migrate: false, logger: false }).start()
    await rejects(start(), {
      code: 'OUTBOX_SCHEMA_NOT_READY',
      message: /lacks all of outbox_event, outbox_event_meta.*store\.migrate\(\).*store\.schemaSql\(\)/,
    })
    deepEqual((await pool.query('select from pg_namespace where nspname = $1', [schema])).rowCount, 0)

    await store.migrate()
    await pool.query(`update "${schema}".outbox_event_meta set value = '0' where key = 'revision'`)
    await rejects(start(), { code: 'OUTBOX_SCHEMA_NOT_READY', message: /it has revision 0.*needs 1/ })
    await store.migrate()
    const outbox = await start()
    await outbox.close()
  })

  it('a table that is divided otherwise is refused with what it is and what to do', async (t) => {
    const { schema, pool } = await newStore(t, { partitionBy: 'day' })
    const byWeek = postgresStore({ client: pool, schema, partitionBy: 'week' })
    let advice = ''
    for (const call of [() => byWeek.migrate(), () => byWeek.checkSchema()]) {
      await rejects(call, (error: Error & { code?: string }) => {
        equal(error.code, 'OUTBOX_INVALID_OPTION')
        match(
          error.message,
          /was made with partitionBy: 'day' of postgresStore\. Give all stores on it partitionBy: 'day'/,
        )
        advice = /update .+(?=\.$)/.exec(error.message)![0]
        return true
      })
    }
    await pool.query(advice)
    await byWeek.migrate()
    await write(byWeek, 1)
    await rejects(postgresStore({ client: pool, schema, partitionBy: 'day' }).migrate(), {
      message: /partitionBy: 'week'/,
    })
  })
})
