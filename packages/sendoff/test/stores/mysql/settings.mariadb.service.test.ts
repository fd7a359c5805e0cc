import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { EventStatus } from '../../../src/store/event-status.ts'
import type { CompleteStore } from '../../../src/store/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import {
  claimOne,
  doneOf,
  insertOne,
  insertRows,
  leaseOf,
} from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { MysqlDatabase } from './mysql-database.ts'

const database = await MysqlDatabase.create('settings')
after(() => database.drop())

const pools = {
  'mysql2 that answers in its own way': () =>
    database.mysql2Pool({
      dateStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      decimalNumbers: true,
      namedPlaceholders: true,
      rowsAsArray: true,
      nestTables: '_',
      timezone: '+09:00',
      typeCast: () => 'cast',
    }),
  'mysql2 that counts changed rows only': () => database.mysql2Pool({ flags: ['-FOUND_ROWS'] }),
  'mariadb that answers in its own way': () =>
    database.mariadbPool({
      dateStrings: true,
      bigNumberStrings: true,
      supportBigNumbers: true,
      namedPlaceholders: true,
      rowsAsArray: true,
      metaAsArray: true,
      nestTables: '_',
      timezone: '+09:00',
      typeCast: () => 'cast',
    }),
  'mariadb that counts changed rows only': () => database.mariadbPool({ foundRows: false }),
  'mariadb that does not pipeline': () => database.mariadbPool({ pipelining: false }),
}

describe('mysql store: whatever its pool is set to', () => {
  for (const [name, openPool] of Object.entries(pools)) {
    it(`works on a pool of ${name}`, () => worksOn(mysqlStore({ client: openPool() as never })))
  }

  for (const mode of ['NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES', '']) {
    it(`works with the sql_mode "${mode}"`, async () => {
      const pool = database.mariadbPool({ sessionVariables: { sql_mode: mode } })
      await worksOn(mysqlStore({ client: pool }))
    })
  }

  it('refuses to write texts that the server would take for something else', async () => {
    const pool = database.mysql2Pool()
    pool.pool.on('connection', (connection) => connection.query("set sql_mode = 'NO_BACKSLASH_ESCAPES'"))
    await rejects(
      mysqlStore({ client: pool }).migrate(),
      /not safe to use with the sql_mode NO_BACKSLASH_ESCAPES/,
    )
  })

  it('refuses connections that do not commit by themselves', async () => {
    const pool = database.mysql2Pool()
    pool.pool.on('connection', (connection) => connection.query('set autocommit = 0'))
    const other = database.mariadbPool({ initSql: 'set autocommit = 0' })
    for (const client of [pool, other]) {
      const refused = { code: 'OUTBOX_INVALID_OPTION', message: /have autocommit off/ }
      await rejects(mysqlStore({ client: client as typeof pool }).migrate(), refused)
      await rejects(mysqlStore({ client: client as typeof pool }).checkSchema(), refused)
    }
  })

  it('works where connections have another isolation level', async () => {
    const pool = database.mysql2Pool()
    pool.pool.on('connection', (connection) =>
      connection.query('set session transaction isolation level serializable'),
    )
    await worksOn(mysqlStore({ client: pool }))
  })
})

describe('mysql store: many on one pool', () => {
  const pools = { mysql2: () => database.mysql2Pool(), mariadb: () => database.mariadbPool() }
  for (const [name, openPool] of Object.entries(pools)) {
    it(`${name}: leave one listener on the pool and on each connection`, async (t) => {
      const warn = t.mock.method(process, 'emitWarning', () => {})
      const client = openPool() as ReturnType<typeof database.mysql2Pool>
      for (let number = 0; number < 20; number += 1) await mysqlStore({ client }).ping!()
      equal(warn.mock.callCount(), 0)
    })
  }
})

describe('mysql store: prepared inserts', () => {
  const pools = {
    mysql2: () => database.mysql2Pool({ connectionLimit: 1 }),
    mariadb: () => database.mariadbPool({ connectionLimit: 1 }),
  }

  for (const [name, openPool] of Object.entries(pools)) {
    it(`${name}: the insert of one event is prepared once for a connection`, async () => {
      deepEqual(await statementsOf(openPool(), {}), { prepared: 1, executed: 2 })
    })

    it(`${name}: nothing is prepared where that is not wanted`, async () => {
      deepEqual(await statementsOf(openPool(), { prepare: false }), { prepared: 0, executed: 0 })
    })
  }

  async function statementsOf(pool: object, options: { prepare?: boolean }) {
    const client = pool as ReturnType<typeof database.mysql2Pool>
    const store = mysqlStore({ client, table: 'prepared_event', ...options })
    await store.migrate()
    await insertOne(store)
    await insertOne(store)
    return { prepared: await countOf(client, 'prepare'), executed: await countOf(client, 'execute') }
  }

  async function countOf(client: ReturnType<typeof database.mysql2Pool>, what: string): Promise<number> {
    const query = `show session status like 'Com_stmt_${what}'`
    const answer: unknown = await client.query(query)
    const [, count] = JSON.stringify(answer).match(/"Value":"(\d+)"/) ?? []
    return Number(count)
  }
})

describe('mysql store: options', () => {
  const client = database.mysql2Pool()

  it('refuses what is no pool', () => {
    for (const wrong of [null, 'mysql://localhost', {}, { query: () => {} }]) {
      throws(() => mysqlStore({ client: wrong as never }), { code: 'OUTBOX_INVALID_OPTION' })
    }
    throws(() => mysqlStore({} as never), /needs the option "client"/)
  })

  it('refuses names that could not stand in SQL as they are', () => {
    for (const name of ['a`b', 'a b', '', '1a', 'a'.repeat(49)]) {
      throws(() => mysqlStore({ client, table: name }), { code: 'OUTBOX_INVALID_TABLE_NAME' })
    }
    for (const name of ['a`b', 'a.b', '', 'a'.repeat(65)]) {
      throws(() => mysqlStore({ client, database: name }), { code: 'OUTBOX_INVALID_TABLE_NAME' })
    }
  })

  it('refuses to work once it is closed, and leaves its pool open', async () => {
    const store = mysqlStore({ client })
    await store.close()
    await rejects(store.migrate(), { code: 'OUTBOX_CLOSED' })
    await rejects(store.claim({ lease: leaseOf('a'), limit: 1 }), { code: 'OUTBOX_CLOSED' })
    await client.query('select 1')
  })

  it('has its schema as SQL, after which there is nothing to migrate', async () => {
    const admin = database.mysql2Pool({ multipleStatements: true })
    const store = mysqlStore({ client: admin, table: 'by_hand' })
    await admin.query(store.schemaSql())
    await store.migrate()
    await insertOne(store)

    equal((await claimOne(store, 'a')).deliveries, 1)
  })

  it('refuses a schema that is newer than it knows', async () => {
    const store = mysqlStore({ client, table: 'newer' })
    await store.migrate()
    await client.query("update newer_meta set value = '999'")
    await rejects(store.migrate(), { code: 'OUTBOX_SCHEMA_TOO_NEW' })
  })
})

/** Goes through everything that depends on how a driver answers or counts. */
async function worksOn(store: CompleteStore<object>): Promise<void> {
  await store.migrate()
  const row = sampleRow({
    payload: `{"text":"it's \\\\ \\" ? :a Zoë 🚀"}`,
    headers: `{"a":"\\\\'"}`,
    occurredAt: Date.UTC(2026, 2, 29, 1, 30),
    idempotencyKey: `key \\' ${Math.random()}`,
  })
  const bytes = sampleRow({ payload: Uint8Array.of(0, 39, 92, 255), contentType: 'application/octet-stream' })
  const results = await insertRows(store, [row, bytes, ...sampleRows(3)])
  deepEqual(
    results.map((result) => result.kind),
    Array.from(results, () => 'inserted'),
  )
  deepEqual(await insertRows(store, [row]), [{ kind: 'duplicate', eventId: row.eventId }])

  const lease = leaseOf('a')
  const rows = await store.claim({ lease, limit: 100 })
  deepEqual(
    [rows[0]!.payload, rows[0]!.headers, rows[0]!.occurredAt, [...(rows[1]!.payload as Uint8Array)]],
    [row.payload, row.headers, row.occurredAt, [0, 39, 92, 255]],
  )
  ok(Math.abs(rows[0]!.createdAt - Date.now()) < 60_000, 'times are in UTC')

  // Twice at the same moment: the second one changes nothing.
  for (let round = 0; round < 5; round += 1) {
    deepEqual(await Promise.all([store.renew({ rows, lease }), store.renew({ rows, lease })]), [[], []])
  }
  const owner = { lock: 'relay', token: 'a' }
  equal(await store.locks.acquire({ ...owner, ttlMs: 30_000 }), true)
  const renewals = Array.from({ length: 5 }, () => store.locks.renew({ ...owner, ttlMs: 30_000 }))
  deepEqual([...new Set(await Promise.all(renewals))], [true])
  for (let round = 0; round < 3; round += 1) {
    deepEqual(await store.nodes.join({ id: 'a', mode: 'multiNode', ttlMs: 30_000 }), {
      kind: 'joined',
      paused: [],
      routing: null,
      mode: 'multiNode',
    })
  }

  const failure = { error: `Error: it's \\ no 🚀`, counted: true }
  const [first, second, ...others] = rows
  deepEqual(
    await store.settle({
      settlements: [
        { row: first!, outcome: { kind: 'retry', delayMs: 30_000, failure } },
        { row: second!, outcome: { kind: 'retry', delayMs: 40_000, failure: { error: '?', counted: true } } },
      ],
    }),
    [],
  )
  deepEqual(
    (await store.people.attempts(first!)).map(({ error }) => error),
    [failure.error],
  )
  const stale = { ...others[0]!, deliveries: 99 }
  deepEqual(await store.settle({ settlements: [...others.slice(1), stale].map(doneOf) }), [doneOf(stale)])
  deepEqual(await store.settle({ settlements: [doneOf(others[0]!)] }), [])
  equal((await store.people.count({ status: [EventStatus.DONE] })) >= others.length, true)
  const purged = await store.purge({
    anyOlderThanMs: -1_000,
    idempotencyKeysOlderThanMs: -1_000,
    limit: 1_000,
  })
  ok(purged.deletedRows >= 5 && purged.deletedIdempotencyKeys >= 1)
  await store.locks.release(owner)
}
