import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { claim, newSchema, newStore, withClient, write } from './test-store.ts'

describe('postgres store: migrations', () => {
  it('a schema that only newer code can use is refused, with what to deploy', async (t) => {
    const { store, pool, table } = await newStore(t)
    const meta = table.replace('outbox_event', 'outbox_event_meta')
    await pool.query(`update ${meta} set value = '7' where key = 'revision'`)
    await store.migrate()
    await store.checkSchema()

    await pool.query(`update ${meta} set value = '9.1.0' where key = 'made_by'`)
    await pool.query(`update ${meta} set value = '6' where key = 'oldest_code'`)
    const refused = {
      code: 'OUTBOX_SCHEMA_TOO_NEW',
      message: /has revision 7, and code before revision 6 .*Deploy sendoff 9\.1\.0 here/,
    }
    await rejects(store.migrate(), refused)
    await rejects(store.checkSchema(), refused)
  })

  it('a schema whose version only newer code knows is refused', async (t) => {
    const { store, pool, table } = await newStore(t)
    const meta = table.replace('outbox_event', 'outbox_event_meta')
    await pool.query(`update ${meta} set value = '1000' where key = 'version'`)

    await rejects(store.migrate(), { code: 'OUTBOX_SCHEMA_TOO_NEW', message: /before revision 1000/ })
  })

  it('a schema brought in as SQL needs no migration', async (t) => {
    const { schema, pool } = await newSchema(t)
    const store = postgresStore({ client: pool, schema })
    await pool.query(store.schemaSql())
    const before = await objectsIn()
    await store.migrate()
    await write(store, 1)

    deepEqual(await objectsIn(), before)
    equal((await claim(store)).length, 1)

    async function objectsIn(): Promise<unknown[]> {
      const { rows } = await pool.query(
        'select relname, relfilenode from pg_class where relnamespace = $1::regnamespace order by relname',
        [schema],
      )
      return rows
    }
  })

  it('schema and table may have any plain name, as long as it gets', async (t) => {
    const { pool } = await newSchema(t)
    for (const [schema, table] of [
      ['Select', 'Table'],
      [`S${'x'.repeat(62)}`, `t${'_'.repeat(47)}`],
    ] as const) {
      const store = postgresStore({ client: pool, schema, table })
      await pool.query(`drop schema if exists "${schema}" cascade`)
      await store.migrate()
      await write(store, 2)

      equal((await claim(store)).length, 2)
      equal((await pool.query(`select "${schema}"."${table}_write"('Type', '{}')`)).rowCount, 1)
      await pool.query(`drop schema "${schema}" cascade`)
    }
  })

  it('other names are refused before they reach the database', async (t) => {
    const { pool } = await newSchema(t)
    const refused = { code: 'OUTBOX_INVALID_TABLE_NAME' }
    for (const name of ['', 'a b', 'a"b', 'a;b', '1a', 'ä', 'x'.repeat(64)]) {
      throws(() => postgresStore({ client: pool, schema: name }), refused)
      throws(() => postgresStore({ client: pool, table: name }), refused)
    }
  })

  it('a user without the right to create schemas can migrate into one that exists', async (t) => {
    const { schema, pool, newPool } = await newSchema(t)
    const role = `${schema}_user`
    await pool.query(`create role ${role} login; create schema ${schema} authorization ${role}`)
    const limited = newPool({ user: role })
    await postgresStore({ client: limited, schema }).migrate()
    await write(postgresStore({ client: limited, schema }), 1)
    await limited.query(`drop schema ${schema} cascade`)
    await pool.query(`drop role ${role}`)
  })

  it('statements go on when the tables were made anew under an open connection', async (t) => {
    const { store, pool, schema } = await newStore(t)
    for (let round = 0; round < 8; round += 1) {
      await write(store, 1)
      await claim(store)
    }
    await pool.query(`drop schema "${schema}" cascade`)
    await store.migrate()
    await write(store, 1)

    equal((await claim(store)).length, 1)
  })

  it('unknown and unfit options are refused', async (t) => {
    const { pool } = await newSchema(t)
    await withClient(pool, async (client) => {
      throws(() => postgresStore({ client: client as never }), {
        code: 'OUTBOX_INVALID_OPTION',
        message: /Pool of pg/,
      })
    })
    throws(() => postgresStore({ client: new pg.Client() as never }), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => postgresStore({ client: pool, tables: 'x' } as never), { code: 'OUTBOX_UNKNOWN_OPTION' })
    throws(() => postgresStore({} as never), { code: 'OUTBOX_INVALID_OPTION' })
    throws(() => postgresStore({ client: pool, notify: 'no' as never }), { code: 'OUTBOX_INVALID_OPTION' })
  })
})
