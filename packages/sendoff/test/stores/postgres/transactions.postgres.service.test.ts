import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import postgres from 'postgres'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import type { SqlTx } from '../../../src/transactions.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { claim, lease, newSchema, newStore, write } from './test-store.ts'

const ended = { name: 'OutboxError', code: 'OUTBOX_TRANSACTION_ENDED' }
const rolledBack = { name: 'OutboxError', code: 'OUTBOX_ROLLED_BACK' }

describe('postgres store: transactions on pg', () => {
  it('business rows and events are committed together, and rolled back together', async (t) => {
    const { store, pool, schema } = await newStore(t)
    await pool.query(`create table "${schema}".orders (id text primary key)`)
    await store.transaction(async (tx) => {
      await tx.query(`insert into "${schema}".orders values ($1)`, ['kept'])
      await store.insert(tx, sampleRows(1), lease)
    })
    const undone = store.transaction(async (tx) => {
      await tx.query(`insert into "${schema}".orders values ($1)`, ['undone'])
      await store.insert(tx, sampleRows(1), lease)
      throw new Error('no')
    })

    await rejects(undone, { message: 'no' })
    deepEqual((await pool.query(`select id from "${schema}".orders`)).rows, [{ id: 'kept' }])
    equal(await store.count({}), 1)
  })

  it('a transaction whose failed statement was swallowed rejects, as the server rolled it back', async (t) => {
    const { store } = await newStore(t)
    const swallowed = store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      await tx.query('select 1 / 0').catch(() => {})
    })

    await rejects(swallowed, rolledBack)
    equal(await store.count({}), 0)
    equal((await write(store, 1)).length, 1)
  })

  it('a nested transaction whose failed statement was swallowed rejects, and the outer one goes on', async (t) => {
    const { store } = await newStore(t)
    await store.transaction(async (tx) => {
      const nested = store.transaction(async (inner) => {
        await store.insert(inner, sampleRows(1), lease)
        await inner.query('select 1 / 0').catch(() => {})
      }, tx)
      await rejects(nested, rolledBack)
      await store.insert(tx, sampleRows(1), lease)
    })

    equal(await store.count({}), 1)
  })

  it('a deferred constraint that fails at the commit comes through as it is', async (t) => {
    const { store, pool, schema } = await newStore(t)
    await pool.query(`create table "${schema}".pairs (id int primary key, other int
                      references "${schema}".pairs deferrable initially deferred)`)
    const failing = store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      await tx.query(`insert into "${schema}".pairs values (1, 2)`)
    })

    await rejects(failing, { code: '23503' })
    equal(await store.count({}), 0)
  })

  it('a commit whose answer was lost says that its outcome is not known, and the pool stays sound', async (t) => {
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    t.after(() => proxy.close())
    const { schema, newPool, store } = await newStore(t)
    const proxied = postgresStore({ client: newPool({ connectionString: proxy.url }), schema })
    await proxied.transaction((tx) => proxied.insert(tx, sampleRows(1), lease))
    const lost = proxy.loseNextAnswerTo('COMMIT', 'COMMIT')

    await rejects(
      proxied.transaction((tx) => proxied.insert(tx, sampleRows(1), lease)),
      { name: 'OutboxError', code: 'OUTBOX_COMMIT_UNKNOWN' },
    )
    await lost
    equal(await store.count({}), 2)
    await proxied.transaction((tx) => proxied.insert(tx, sampleRows(1), lease))
    equal(await proxied.count({}), 3)
  })

  it('a transaction that loses its connection half-way rejects, and ends nothing else', async (t) => {
    const { store, pool } = await newStore(t)
    const killed = store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      const { rows } = await tx.query('select pg_backend_pid() as pid')
      await pool.query('select pg_terminate_backend($1)', [rows[0].pid])
      await store.insert(tx, sampleRows(1), lease)
    })

    await rejects(killed)
    equal(await store.count({}), 0)
    await write(store, 1)
  })

  it('a transaction that its callback committed or rolled back by hand rejects', async (t) => {
    const { store } = await newStore(t)
    for (const word of ['commit', 'rollback', 'rollback; begin', 'commit; start transaction']) {
      await rejects(
        store.transaction((tx) => tx.query(word)),
        ended,
      )
    }
    await write(store, 1)
  })

  it('the client of a transaction refuses to work once it ended', async (t) => {
    const { store } = await newStore(t)
    let late: pg.PoolClient | undefined
    await store.transaction(async (tx) => {
      late = tx
      equal(tx.constructor.name, 'Client')
    })

    await rejects(async () => late!.query('select 1'), ended)
    await rejects(async () => store.insert(late!, sampleRows(1), lease), ended)
    await rejects(
      store.transaction(async () => {}, late),
      ended,
    )
    equal(await store.inTransaction(late!), false)
  })

  it('a callback that releases its client as if it were its own does no harm', async (t) => {
    const { store, pool } = await newStore(t)
    await store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      tx.release()
    })

    equal(await store.count({}), 1)
    equal(pool.idleCount, pool.totalCount)
  })

  it('a nested transaction that was not awaited undoes both, and hits nobody else', async (t) => {
    const { schema, newPool } = await newStore(t)
    const store = postgresStore({ client: newPool({ max: 1 }), schema })
    const gate = Promise.withResolvers<void>()
    const statements: unknown[] = []
    const careless = store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      const nested = store.transaction(async (inner) => {
        await gate.promise
        await inner.query('select 1')
      }, tx)
      nested.catch((error: unknown) => statements.push(error))
    })
    const next = store.transaction((tx) => store.insert(tx, sampleRows(1), lease))
    gate.resolve()

    await rejects(careless, { ...ended, message: /nested transaction was still open/ })
    await next
    equal(await store.count({}), 1)
    equal((statements[0] as { code: string }).code, ended.code)
  })

  it('the isolation level of a transaction can be chosen', async (t) => {
    const { store } = await newStore(t)
    const level = await store.transaction(
      async (tx) => (await tx.query('show transaction_isolation')).rows[0].transaction_isolation,
      undefined,
      { isolation: 'serializable' },
    )

    equal(level, 'serializable')
    await rejects(
      store.transaction(async () => {}, undefined, { isolation: 'none; drop table' as 'serializable' }),
      { code: 'OUTBOX_INVALID_OPTION' },
    )
  })

  it('on a pool of one, a call that would wait for its own transaction is refused', async (t) => {
    const { schema, newPool } = await newStore(t)
    const store = postgresStore({ client: newPool({ max: 1 }), schema })
    await store.transaction(async (tx) => {
      await store.insert(tx, sampleRows(1), lease)
      await rejects(store.claim({ lease, limit: 1 }), { code: 'OUTBOX_INSIDE_TRANSACTION' })
      await rejects(
        store.transaction(async () => {}),
        { code: 'OUTBOX_INSIDE_TRANSACTION' },
      )
    })

    equal((await store.claim({ lease, limit: 1 })).length, 1)
  })
})

describe('postgres store: transactions that somebody else opened', () => {
  it('rows are written through a client of pg, with and without an open transaction told apart', async (t) => {
    const { store, pool } = await newStore(t)
    const client = await pool.connect()
    equal(await store.inTransaction(client), false)
    await client.query('begin')
    equal(await store.inTransaction(client), true)
    await store.insert(client, sampleRows(1), lease)
    await store.insert(client, sampleRows(3), lease)
    equal(await store.count({}), 0)
    await client.query('commit')

    equal(await store.inTransaction(client), false)
    client.release()
    equal(await store.count({}), 4)
  })

  it('a transaction that was begun without waiting for it counts as open', async (t) => {
    const { store, pool } = await newStore(t)
    const client = await pool.connect()
    const begun = client.query('begin')

    equal(await store.inTransaction(client), true)
    await begun
    await client.query('rollback')
    client.release()
  })

  it('a transaction that has failed is one nevertheless', async (t) => {
    const { store, pool } = await newStore(t)
    const client = await pool.connect()
    await client.query('begin')
    await client.query('select 1 / 0').catch(() => {})

    equal(await store.inTransaction(client), true)
    equal(await store.inTransaction(queryOnly(client)), true)
    await rejects(store.insert(client, sampleRows(1), lease), { code: '25P02' })
    await client.query('rollback')
    client.release()
  })

  it('a pool is no transaction, and is not even asked', async (t) => {
    const { store, newPool } = await newStore(t)
    const other = newPool()

    equal(await store.inTransaction(other as unknown as pg.PoolClient), false)
    equal(other.totalCount, 0)
  })

  it('any handle with query(text, values) will do, whatever it makes of names and types', async (t) => {
    const { store, pool } = await newStore(t)
    const client = await pool.connect()
    const tx = queryOnly(client)
    equal(await store.inTransaction(tx), false)
    await client.query('begin')
    equal(await store.inTransaction(tx), true)
    const [free, keyed] = sampleRows(2)
    const results = await store.insert(tx, [free!, { ...keyed!, idempotencyKey: 'key' }], lease)
    const [claimed] = await store.insert(tx, [sampleRow({ claimed: true })], lease)
    const [repeated] = await store.insert(tx, [sampleRow({ idempotencyKey: 'key' })], lease)
    const nested = store.transaction(async (inner) => {
      await store.insert(inner, sampleRows(1), lease)
      throw new Error('undo')
    }, tx)
    await rejects(nested, { message: 'undo' })
    await client.query('commit')
    client.release()

    const stored = await store.query({ limit: 10 })
    deepEqual(
      [...results, claimed],
      stored.map(({ seq, deliveries }) => ({ kind: 'inserted', seq, deliveries, certain: true })),
    )
    deepEqual(repeated, { kind: 'duplicate', eventId: keyed!.eventId })
  })

  it('rows written under a savepoint of whoever opened the transaction are not certain', async (t) => {
    const { store, pool } = await newStore(t)
    const client = await pool.connect()
    await client.query('begin; savepoint a')
    const [one] = await store.insert(client, sampleRows(1), lease)
    const [, two] = await store.insert(client, sampleRows(2), lease)
    await client.query('commit')
    client.release()

    for (const result of [one, two]) ok(result?.kind === 'inserted' && !result.certain)
  })

  it('what cannot run statements is refused with a hint', async (t) => {
    const { store } = await newStore(t)
    await rejects(async () => store.insert({} as pg.PoolClient, sampleRows(1), lease), {
      code: 'OUTBOX_NO_TRANSACTION',
      message: /query\(text, values\)/,
    })
  })
})

describe('postgres store: transactions on postgres.js', () => {
  it('a transaction whose failed statement was swallowed rejects', async (t) => {
    const { store, sql } = await newPostgresJsStore(t)
    await rejects(
      store.transaction(async (tx) => {
        await store.insert(tx, sampleRows(1), lease)
        await tx`select 1 / 0`.catch(() => {})
      }),
      { code: '22012' },
    )
    equal(await store.count({}), 0)
    equal((await sql`select 1 as one`)[0]!['one'], 1)
  })

  it('a commit whose answer was lost says that its outcome is not known', async (t) => {
    const proxy = await faultProxy(process.env['POSTGRES_URL']!)
    t.after(() => proxy.close())
    const { store, schema } = await newPostgresJsStore(t)
    const sql = postgres(proxy.url, { max: 2, fetch_types: false })
    t.after(() => sql.end({ timeout: 1 }))
    const proxied = postgresStore({ client: sql, schema })
    // The first transaction of its connection: later ones send the name of a prepared COMMIT.
    const lost = proxy.loseNextAnswerTo('COMMIT', 'COMMIT')

    await rejects(
      proxied.transaction((tx) => proxied.insert(tx, sampleRows(1), lease)),
      { code: 'OUTBOX_COMMIT_UNKNOWN' },
    )
    await lost
    equal(await store.count({}), 1)
  })

  it('the sql of a transaction refuses to work once it ended', async (t) => {
    const { store } = await newPostgresJsStore(t)
    let late: postgres.TransactionSql | undefined
    await store.transaction(async (tx) => {
      late = tx
      equal((await tx`select 1 as one`)[0]!['one'], 1)
    })

    await rejects(async () => late!`select 1`, ended)
    await rejects(async () => late!.unsafe('select 1'), ended)
    await rejects(async () => store.insert(late!, sampleRows(1), lease), ended)
  })

  it('rows are written in a transaction of sql.begin, and sql itself is none', async (t) => {
    const { store, sql } = await newPostgresJsStore(t)
    equal(await store.inTransaction(sql as unknown as postgres.TransactionSql), false)
    await sql.begin(async (tx) => {
      equal(await store.inTransaction(tx), true)
      const [row] = await store.insert(tx, sampleRows(1), lease)
      ok(row?.kind === 'inserted' && row.certain)
      await store.transaction((inner) => store.insert(inner, sampleRows(1), lease), tx)
      const unsafeOnly = { unsafe: (text: string, values: string[]) => tx.unsafe(text, values) }
      await store.insert(unsafeOnly as unknown as postgres.TransactionSql, sampleRows(2), lease)
    })

    equal(await store.count({}), 4)
  })

  it('types and transforms that the user has set change nothing', async (t) => {
    const { schema } = await newPostgresJsStore(t)
    const sql = postgres(process.env['POSTGRES_URL']!, {
      max: 2,
      transform: { ...postgres.camel, undefined: null },
      types: {
        bigint: postgres.BigInt,
        json: { to: 114, from: [114], serialize: () => 'broken', parse: () => 'broken' },
        integer: { to: 23, from: [21, 23], serialize: String, parse: () => -1 },
        timestamp: { to: 1184, from: [1184], serialize: () => 'broken', parse: () => 'broken' },
      },
    })
    t.after(() => sql.end())
    const store = postgresStore({ client: sql, schema })
    const [row] = sampleRows(1, { headers: '{"a":"b"}', partitionNo: 7, orderingKey: 'k' })
    await store.transaction((tx) => store.insert(tx, [row!], lease))
    const [claimed] = await store.claim({ lease, limit: 1 })

    deepEqual(
      [claimed!.payload, claimed!.headers, claimed!.partitionNo, claimed!.deliveries, claimed!.occurredAt],
      [row!.payload, row!.headers, 7, 1, row!.occurredAt],
    )
  })
})

describe('postgres store: type parsers of pg', () => {
  it('that the user has set change nothing', async (t) => {
    const { schema, newPool } = await newStore(t)
    const types = { getTypeParser: () => () => 'broken' }
    const store = postgresStore({ client: newPool({ types }), schema })
    const [row] = await write(store, 1, { headers: '{"a":"b"}', partitionNo: 7, orderingKey: 'k' })
    const [claimed] = await claim(store)

    deepEqual(
      [claimed!.eventId, claimed!.payload, claimed!.headers, claimed!.partitionNo, claimed!.occurredAt],
      [row!.eventId, row!.payload, row!.headers, 7, row!.occurredAt],
    )
  })
})

async function newPostgresJsStore(t: Parameters<typeof newSchema>[0]) {
  const { schema } = await newSchema(t)
  const sql = postgres(process.env['POSTGRES_URL']!, { max: 4 })
  const store = postgresStore({ client: sql, schema })
  t.after(() => sql.end())
  await store.migrate()
  return { store, sql, schema }
}

/** A handle as ORMs have them: rows come as objects, under names of its own, and decoded. */
function queryOnly(client: pg.PoolClient): pg.PoolClient {
  const handle: SqlTx = {
    async query(text, values) {
      const { rows } = await client.query(text, values)
      return { rows: rows.map((row: object) => Object.fromEntries(Object.entries(row).map(renamed))) }
    },
  }
  return handle as unknown as pg.PoolClient
}

function renamed([, value]: [string, unknown], index: number): [string, unknown] {
  return [`column${index}`, value]
}
