import assert, { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import type {
  SqliteHandle,
  SqliteStatement,
  SqliteStore,
  SqliteStoreOptions,
} from '../../../src/stores/sqlite/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { sqliteTables } from '../../../src/stores/sqlite/schema/sqlite-tables.ts'
import { statementsFor } from '../../../src/stores/sqlite/sql/statements.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const lease = { owner: 'test', ms: 30_000 }
const ended = { name: 'OutboxError', code: 'OUTBOX_TRANSACTION_ENDED' }

const drivers: Readonly<Record<string, (file: string) => SqliteHandle>> = {
  'node:sqlite': (file) => new DatabaseSync(file),
  'better-sqlite3': (file) => new Database(file),
}

for (const [driver, open] of Object.entries(drivers)) {
  describe(`sqlite store on ${driver}: transactions`, () => {
    it('the event loop goes on while the engine waits for a transaction', async (t) => {
      const file = await newFile(t)
      const writer = await openStore(t, file)
      const engine = await openStore(t, file)
      const gate = Promise.withResolvers<void>()
      const inside = Promise.withResolvers<void>()
      const written = writer.transaction(async (tx) => {
        await writer.insert({ tx, rows: sampleRows(1), lease })
        inside.resolve()
        await gate.promise
      })
      await inside.promise
      let isClaimed = false
      const claims = [writer, engine].map((store) =>
        store.claim({ lease, limit: 10 }).finally(() => (isClaimed = true)),
      )
      for (let turn = 0; turn < 50; turn += 1) await nextTurn()

      equal(isClaimed, false)
      gate.resolve()
      await written
      equal((await Promise.all(claims)).flat().length, 1)
    })

    it('two stores on one file take turns, in the order in which they asked', async (t) => {
      const file = await newFile(t)
      const stores = [await openStore(t, file), await openStore(t, file)]
      const order: number[] = []
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          stores[index % 2]!.transaction(async (tx) => {
            await nextTurn()
            await stores[index % 2]!.insert({ tx, rows: sampleRows(1), lease })
            order.push(index)
          }),
        ),
      )

      deepEqual(
        order,
        [...order].sort((a, b) => a - b),
      )
      equal(await stores[0]!.people.count({}), 20)
    })

    it('business rows and events are committed together, and rolled back together', async (t) => {
      const store = await openStore(t)
      await store.transaction(async (tx) => {
        tx.exec('create table orders (id text primary key)')
        tx.prepare('insert into orders values (?)').run('kept')
        await store.insert({ tx, rows: sampleRows(1), lease })
      })
      const undone = store.transaction(async (tx) => {
        tx.prepare('insert into orders values (?)').run('undone')
        await store.insert({ tx, rows: sampleRows(1), lease })
        throw new Error('no')
      })

      await rejects(undone, { message: 'no' })
      deepEqual(await ordersIn(store), ['kept'])
      equal(await store.people.count({}), 1)
    })

    it('the handle of a transaction is one of the kind that was opened', async (t) => {
      const file = await newFile(t)
      const raw = open(file)
      const store = await openStore(t, file)
      await store.transaction(async (tx) => {
        ok(tx instanceof raw.constructor)
        equal(tx.isTransaction ?? tx.inTransaction, true)
        deepEqual({ ...(tx.prepare('select 1 as one').get() as object) }, { one: 1 })
      })
      raw.close()
    })

    it('the handle and its statements refuse to work once the transaction ended', async (t) => {
      const store = await openStore(t)
      let late: { tx: SqliteHandle; statement: SqliteStatement; run: (value: string) => unknown } | undefined
      await store.transaction(async (tx) => {
        const statement = tx.prepare(`insert into outbox_event_meta values ('late', ?)`)
        late = { tx, statement, run: Reflect.get(statement, 'run') }
      })

      throws(() => late!.tx.prepare('select 1'), ended)
      throws(() => late!.tx.exec('select 1'), ended)
      throws(() => late!.statement.run('x'), ended)
      throws(() => late!.run('x'), /Await everything before the transaction's callback returns/)
      await rejects(store.insert({ tx: late!.tx, rows: sampleRows(1), lease }), ended)
      await rejects(
        store.transaction(async () => {}, { within: late!.tx }),
        ended,
      )
      equal(await store.people.count({}), 0)
    })

    it('a transaction may answer its own handle without failing', async (t) => {
      const store = await openStore(t)
      const answer = await store.transaction(async (tx) => tx)

      equal(await store.inTransaction(answer), false)
    })

    it('a nested handle ends with its savepoint, and the outer one goes on', async (t) => {
      const store = await openStore(t)
      await store.transaction(async (tx) => {
        const inner = await store.transaction(async (nested) => ({ nested }), { within: tx })

        throws(() => inner.nested.prepare('select 1'), ended)
        equal(await store.inTransaction(inner.nested), false)
        await store.insert({ tx, rows: sampleRows(1), lease })
      })
      equal(await store.people.count({}), 1)
    })

    it('nested transactions begun at the same time run one after the other', async (t) => {
      const store = await openStore(t)
      await store.transaction(async (tx) => {
        const nested = [1, 2, 3].map((number) =>
          store.transaction(
            async (inner) => {
              await store.insert({ tx: inner, rows: sampleRows(1), lease })
              await nextTurn()
              if (number === 2) throw new Error('no')
            },
            { within: tx },
          ),
        )
        await Promise.allSettled(nested)
      })

      equal(await store.people.count({}), 2)
    })

    it('a nested transaction that nobody awaited undoes everything', async (t) => {
      const store = await openStore(t)
      const gate = Promise.withResolvers<void>()
      let nested: Promise<void> | undefined
      const outer = store.transaction(async (tx) => {
        await store.insert({ tx, rows: sampleRows(1), lease })
        nested = store.transaction(
          async (inner) => {
            await store.insert({ tx: inner, rows: sampleRows(1), lease })
            await gate.promise
          },
          { within: tx },
        )
      })

      await rejects(outer, ended)
      gate.resolve()
      await rejects(nested!, ended)
      equal(await store.people.count({}), 0)
    })

    for (const command of ['rollback', 'commit']) {
      it(`a ${command} by hand fails the transaction and leaves the handle clean`, async (t) => {
        const store = await openStore(t)
        const broken = store.transaction(async (tx) => {
          await store.insert({ tx, rows: sampleRows(1), lease })
          tx.exec(command)
          equal(await store.inTransaction(tx), false)
        })

        await rejects(broken, { ...ended, message: /ran COMMIT, ROLLBACK or RELEASE itself/ })
        equal(await store.people.count({}), command === 'commit' ? 1 : 0)
        await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
      })
    }

    it('a rollback by hand in a nested transaction fails the outer one', async (t) => {
      const store = await openStore(t)
      const broken = store.transaction(async (tx) => {
        await store.insert({ tx, rows: sampleRows(1), lease })
        await rejects(
          store.transaction(async (inner) => inner.exec('rollback'), { within: tx }),
          ended,
        )
      })

      await rejects(broken, ended)
      equal(await store.people.count({}), 0)
    })

    it('a row is certain until a savepoint is set by hand', async (t) => {
      const store = await openStore(t)
      const isCertain = async (tx: SqliteHandle) => {
        const [result] = await store.insert({ tx, rows: sampleRows(1), lease })
        return result?.kind === 'inserted' && result.certain
      }
      const setSavepoint: Record<string, (tx: SqliteHandle) => unknown> = {
        exec: (tx) => tx.exec('SAVEPOINT mine'),
        prepare: (tx) => tx.prepare('savepoint mine').run(),
        'something else': (tx) =>
          driver === 'better-sqlite3'
            ? (tx as unknown as Database.Database).transaction(() => {})()
            : (tx as DatabaseSync).function('mine', () => 1),
      }
      for (const [way, set] of Object.entries(setSavepoint)) {
        await store.transaction(async (tx) => {
          tx.prepare('select 1').get()
          equal(await isCertain(tx), true, way)
          set(tx)
          equal(await isCertain(tx), false, way)
        })
        await store.transaction(async (tx) => equal(await isCertain(tx), true, way))
      }
    })

    it('a statement is prepared once for many transactions, unless it was in use or left changed', async (t) => {
      const { store, timesPrepared } = await storeThatTellsOfStatements(t)
      for (let n = 0; n < 3; n++) {
        await store.transaction(async (tx) => {
          const [first, second] = [tx.prepare('select 7 as it'), tx.prepare('select 7 as it')]
          deepEqual({ ...(first.get() as object) }, { it: 7 })
          deepEqual({ ...(second.get() as object) }, { it: 7 })
          const changed = tx.prepare('select 8 as it') as unknown as Record<string, (on: boolean) => void>
          const bigIntegers = driver === 'node:sqlite' ? 'setReadBigInts' : 'safeIntegers'
          changed[bigIntegers]!(true)
        })
      }
      equal(timesPrepared('select 7 as it'), 4)
      equal(timesPrepared('select 8 as it'), 3)
    })

    it('as many statements are kept as are worth it', async (t) => {
      const { store, timesPrepared } = await storeThatTellsOfStatements(t)
      const runAll = () =>
        store.transaction(async (tx) => {
          for (let n = 0; n < 101; n++) tx.prepare(`select ${n} as it`).get()
        })
      await runAll()
      await runAll()
      equal(timesPrepared('select 0 as it'), 2, 'the oldest made room')
    })

    async function storeThatTellsOfStatements(t: TestContext) {
      const prepared: string[] = []
      const handle = open(await newFile(t))
      const prepare = handle.prepare.bind(handle)
      handle.prepare = (sql: string) => {
        prepared.push(sql)
        return prepare(sql)
      }
      const store = sqliteStore({ open: () => handle })
      t.after(() => store.close())
      await store.migrate()
      return { store, timesPrepared: (text: string) => prepared.filter((sql) => sql === text).length }
    }

    it('a transaction that cannot begin leaves one alone that somebody has begun by hand', async (t) => {
      const handle = open(await newFile(t))
      const store = sqliteStore({ open: () => handle })
      t.after(() => store.close())
      await store.migrate()
      handle.exec('begin; create table mine (id integer)')

      await rejects(store.transaction(async () => {}))
      handle.exec('insert into mine values (1); commit')
      equal(handle.prepare('select id from mine').all().length, 1)
    })

    it('a commit that fails is rolled back', async (t) => {
      const store = await openStore(t)
      await store.transaction(async (tx) => {
        tx.exec('create table parent (id integer primary key)')
        tx.exec('create table child (id integer references parent deferrable initially deferred)')
      })
      const refused = store.transaction(async (tx) => {
        await store.insert({ tx, rows: sampleRows(1), lease })
        tx.exec('insert into child values (1)')
      })

      await rejects(refused, /FOREIGN KEY constraint failed/)
      equal(await store.people.count({}), 0)
      await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
      equal(await store.people.count({}), 1)
    })

    it('a failed insert adds nothing, even if its error is swallowed', async (t) => {
      const store = await openStore(t)
      const row = sampleRow()
      await store.transaction(async (tx) => {
        const failed = store.insert({ tx, rows: [sampleRow({ idempotencyKey: 'key' }), row, row], lease })
        await rejects(failed, (error: Error) => {
          equal((error as Error & { code: string }).code, 'OUTBOX_DUPLICATE_EVENT_ID')
          return error.cause instanceof Error && /UNIQUE constraint failed/.test(error.cause.message)
        })
      })

      equal(await store.people.count({}), 0)
      const [result] = await store.transaction((tx) =>
        store.insert({ tx, rows: [sampleRow({ idempotencyKey: 'key' })], lease }),
      )
      equal(result!.kind, 'inserted')
    })

    it('an event that fans out under one idempotency key goes to every destination, once', async (t) => {
      const store = await openStore(t)
      const billing = sampleRow({ destination: 'billing', idempotencyKey: 'key' })
      const rows = [billing, { ...billing, destination: 'shipping' }]
      const insert = () => store.transaction((tx) => store.insert({ tx, rows, lease }))

      deepEqual(kindsOf(await insert()), ['inserted', 'inserted'])
      deepEqual(kindsOf(await insert()), ['duplicate', 'duplicate'])
    })

    it('rows can be inserted in the transaction of a handle that is not the store’s', async (t) => {
      const file = await newFile(t)
      const store = await openStore(t, file)
      const foreign = open(file)
      equal(await store.inTransaction(foreign), false)
      foreign.exec('begin immediate')
      equal(await store.inTransaction(foreign), true)
      await store.insert({ tx: foreign, rows: sampleRows(2), lease })
      await rejects(
        store.transaction(
          async (nested) => {
            await store.insert({ tx: nested, rows: sampleRows(1), lease })
            throw new Error('no')
          },
          { within: foreign },
        ),
        { message: 'no' },
      )
      equal(await store.people.count({}), 0)
      foreign.exec('commit')

      equal(await store.people.count({}), 2)
      await rejects(
        store.transaction(async () => {}, { within: foreign }),
        ended,
      )
      foreign.close()
    })

    it('whether a transaction is open is found out also where the driver does not tell', async (t) => {
      const file = await newFile(t)
      const store = await openStore(t, file)
      const raw = open(file)
      const silent: SqliteHandle = {
        exec: (sql) => raw.exec(sql),
        prepare: (sql) => raw.prepare(sql),
        close: () => raw.close(),
      }

      equal(await store.inTransaction(silent), false)
      silent.exec('begin')
      equal(await store.inTransaction(silent), true)
      equal(await store.inTransaction(silent), true)
      silent.close()
    })

    it('a handle that was closed by hand is replaced', async (t) => {
      const store = await openStore(t)
      await rejects(store.transaction(async (tx) => tx.close()))
      await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))

      equal(await store.people.count({}), 1)
    })

    it('close waits for open transactions and then refuses further work', async (t) => {
      const store = await openStore(t)
      const gate = Promise.withResolvers<void>()
      const written = store.transaction(async (tx) => {
        await gate.promise
        await store.insert({ tx, rows: sampleRows(1), lease })
      })
      const closed = Promise.all([store.close(), store.close()])
      gate.resolve()
      await written
      await closed

      await rejects(store.people.count({}), { code: 'OUTBOX_CLOSED' })
      await rejects(
        store.transaction(async () => {}),
        { code: 'OUTBOX_CLOSED' },
      )
    })

    it('a store that was never used can be closed', async () => {
      await sqliteStore({ open: () => assert.fail('nothing to open') }).close()
    })

    it('databases in memory have nothing to do with each other', async (t) => {
      const first = await openStore(t, ':memory:')
      const second = await openStore(t, ':memory:')
      await first.transaction(async (tx) => {
        await first.insert({ tx, rows: sampleRows(1), lease })
        await second.transaction((other) => second.insert({ tx: other, rows: sampleRows(2), lease }))
      })

      deepEqual([await first.people.count({}), await second.people.count({})], [1, 2])
    })
  })

  async function openStore(
    t: TestContext,
    file?: string,
    options: Partial<SqliteStoreOptions<SqliteHandle>> = {},
  ): Promise<SqliteStore<SqliteHandle>> {
    const path = file ?? (await newFile(t))
    const store = sqliteStore({ open: () => openWithForeignKeys(path), ...options })
    t.after(() => store.close())
    await store.migrate()
    return store
  }

  function openWithForeignKeys(file: string): SqliteHandle {
    const handle = open(file)
    handle.exec('pragma foreign_keys = on')
    return handle
  }
}

describe('sqlite store: several processes', () => {
  it('processes that write and deliver at once lose nothing and do nothing twice', async (t) => {
    const file = await newFile(t)
    const store = await nodeStore(t, file)
    const writers = await Promise.all(['a', 'b'].map((name) => startProcess(t, 'write', file, name, '150')))
    writers.forEach((writer) => writer.send('go'))
    const exits = Promise.all(writers.map(exitCodeOf))
    const delivered: string[] = []
    while (delivered.length < 300) {
      const rows = await store.claim({ lease, limit: 20 })
      const refused = await store.settle({
        settlements: rows.map((row) => ({ row, outcome: { kind: 'done' } })),
      })
      delivered.push(...rows.map((row) => row.eventId))
      deepEqual(refused, [])
      await nextTurn()
      if (rows.length === 0 && writers.every((writer) => writer.exitCode !== null)) break
    }

    deepEqual(await exits, [0, 0])
    equal(new Set(delivered).size, 300)
    equal(delivered.length, 300)
    equal(await store.people.count({ status: [1] }), 300)
  })

  it('processes that migrate at the same time all succeed', async (t) => {
    const file = await newFile(t)
    const processes = await Promise.all([1, 2, 3, 4].map(() => startProcess(t, 'migrate', file)))
    processes.forEach((child) => child.send('go'))

    deepEqual(await Promise.all(processes.map(exitCodeOf)), [0, 0, 0, 0])
    const store = await nodeStore(t, file)
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
    equal(await store.people.count({}), 1)
  })

  it('a write lock held by another process too long is OUTBOX_STORE_BUSY, without blocking meanwhile', async (t) => {
    const file = await newFile(t)
    const store = await nodeStore(t, file, { busyTimeoutMs: 60 })
    const holder = await startHolder(t, file)
    let turns = 0
    const counting = setInterval(() => (turns += 1), 1)
    t.after(() => clearInterval(counting))
    const busy = { code: 'OUTBOX_STORE_BUSY', message: /more than 60 ms/ }
    await rejects(
      store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease })),
      (error: Error) => error.cause instanceof Error && /locked/.test(error.cause.message),
    )
    await rejects(store.locks.acquire({ lock: 'relay', token: 'a', ttlMs: 1_000 }), busy)

    ok(turns > 5, `the event loop turned ${turns} times`)
    deepEqual(await store.claim({ lease, limit: 10 }), [])
    holder.send('release')
    equal(await exitCodeOf(holder), 0)
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
  })

  it('whoever waits for another process goes on when its transaction ends', async (t) => {
    const file = await newFile(t)
    const store = await nodeStore(t, file)
    const holder = await startHolder(t, file)
    let isWritten = false
    const written = store
      .transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
      .then(() => (isWritten = true))
    for (let turn = 0; turn < 50; turn += 1) await nextTurn()

    equal(isWritten, false)
    holder.send('release')
    await written
    equal(await store.people.count({}), 1)
  })
})

describe('sqlite store: schema and options', () => {
  it('a schema newer than this code is refused', async (t) => {
    const file = await newFile(t)
    const store = await nodeStore(t, file)
    await store.transaction(async (tx) =>
      tx.exec(`update outbox_event_meta set value = '999' where key = 'version'`),
    )

    await rejects(store.migrate(), { code: 'OUTBOX_SCHEMA_TOO_NEW', message: /before revision 999/ })
  })

  it('schemaSql brings in the schema that migrate would', async (t) => {
    const byHand = new DatabaseSync(':memory:')
    const store = sqliteStore({ open: () => byHand })
    t.after(() => store.close())
    byHand.exec(store.schemaSql())
    const migrated = await nodeStore(t, ':memory:')
    const tables = await migrated.transaction(async (tx) => schemaOf(tx))

    deepEqual(schemaOf(byHand), tables)
    await store.migrate()
    deepEqual(schemaOf(byHand), tables)
  })

  it('a table name of one’s own keeps stores in one file apart, reserved words included', async (t) => {
    const file = await newFile(t)
    const orders = await nodeStore(t, file, { table: 'order' })
    const mails = await nodeStore(t, file, { table: '_Mail_2' })
    await orders.transaction(async (tx) => {
      await orders.insert({ tx, rows: sampleRows(2), lease })
      await mails.insert({ tx, rows: sampleRows(1), lease })
    })

    deepEqual([await orders.people.count({}), await mails.people.count({})], [2, 1])
    equal((await mails.claim({ lease, limit: 10 })).length, 1)
  })

  for (const table of ['', '1st', 'a-b', 'a"b', 'a.b', 'x'.repeat(49), 'é', 5 as unknown as string]) {
    it(`the table name ${JSON.stringify(table)} is refused`, () => {
      throws(() => sqliteStore({ open: openNothing, table }), { code: 'OUTBOX_INVALID_TABLE_NAME' })
    })
  }

  it('options that do not exist or do not fit are refused', () => {
    const invalid = { code: 'OUTBOX_INVALID_OPTION' }
    const make = (options: object) => () => sqliteStore(options as SqliteStoreOptions<SqliteHandle>)

    throws(make({ open: openNothing, tabel: 'x' }), { code: 'OUTBOX_UNKNOWN_OPTION', message: /"tabel"/ })
    throws(make({}), invalid)
    throws(make({ open: 'app.db' }), invalid)
    throws(make({ open: openNothing, synchronous: 'OFF' }), invalid)
    throws(make({ open: openNothing, busyTimeoutMs: -1 }), invalid)
    throws(make({ open: openNothing, busyTimeoutMs: Number.NaN }), invalid)
    throws(make({ open: openNothing, now: 5 }), invalid)
  })

  it('the handle is set up for durable commits, and for none that block', async (t) => {
    const full = await nodeStore(t, await newFile(t))
    const normal = await nodeStore(t, await newFile(t), { synchronous: 'NORMAL' })

    deepEqual(await pragmasOf(full), { journal_mode: 'wal', synchronous: 2, timeout: 0 })
    deepEqual(await pragmasOf(normal), { journal_mode: 'wal', synchronous: 1, timeout: 0 })
  })

  it('handles set to big integers or arrays serve as well', async (t) => {
    const file = await newFile(t)
    const numbers = new Database(file)
    numbers.defaultSafeIntegers(true)
    const store = sqliteStore({ open: () => numbers })
    t.after(() => store.close())
    await store.migrate()
    const [result] = await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
    const arrays = sqliteStore({
      open: () => new DatabaseSync(file, { readBigInts: true, returnArrays: true }),
    })
    t.after(() => arrays.close())
    await arrays.migrate()
    const [row] = await arrays.claim({ lease, limit: 1 })

    deepEqual(result, { kind: 'inserted', seq: 1, deliveries: 0, certain: true })
    equal(row!.seq, 1)
    equal(await store.people.count({}), 1)
  })

  it('claims and settlements go by an index, without sorting', async (t) => {
    const store = await nodeStore(t, ':memory:')
    const { anyDue, due, dueById, settleDone, lock } = statementsFor(sqliteTables('outbox_event'))
    const plans = await store.transaction(async (tx) =>
      [anyDue, due, dueById, settleDone, lock].map((sql) => planOf(tx, sql)),
    )

    deepEqual(
      plans.map(([first]) => first),
      [
        'SEARCH outbox_event USING INDEX outbox_event_due (available_at>? AND available_at<?)',
        'SEARCH outbox_event USING INDEX outbox_event_due (available_at>? AND available_at<?)',
        'SEARCH outbox_event USING INDEX sqlite_autoindex_outbox_event_1 (event_id=? AND destination=?)',
        'SEARCH outbox_event USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH outbox_event_lock USING PRIMARY KEY (name=?)',
      ],
    )
    // What is paused is read once and by its key; nothing else is read besides.
    const besides = new Set(
      plans.flatMap(([, ...rest]) => rest.filter((step) => /SEARCH|SCAN|SORT|B-TREE/.test(step))),
    )
    deepEqual([...besides], ['SEARCH outbox_event_control USING PRIMARY KEY (kind=?)'])
  })
})

async function newFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sendoff-sqlite-'))
  t.after(() => rm(folder, { recursive: true }))
  return join(folder, 'test.db')
}

async function nodeStore(
  t: TestContext,
  file: string,
  options: Partial<SqliteStoreOptions<DatabaseSync>> = {},
): Promise<SqliteStore<DatabaseSync>> {
  const store = sqliteStore({ open: () => new DatabaseSync(file), ...options })
  t.after(() => store.close())
  await store.migrate()
  return store
}

async function startProcess(t: TestContext, ...parameters: string[]): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('sqlite-process.ts', import.meta.url)), parameters, {
    execArgv: [],
  })
  t.after(() => child.kill())
  await messageFrom(child)
  return child
}

/** A process inside a transaction, which it ends when it gets a message. */
async function startHolder(t: TestContext, file: string): Promise<ChildProcess> {
  const holder = await startProcess(t, 'holdWriteLock', file)
  holder.send('go')
  await messageFrom(holder)
  return holder
}

async function messageFrom(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit').then(([code]) =>
    assert.fail(`the process ended with ${code} before its message`),
  )
  await Promise.race([once(child, 'message'), exited])
  // Its end is expected from now on.
  exited.catch(() => {})
}

async function exitCodeOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit')
  return child.exitCode
}

function openNothing(): SqliteHandle {
  return assert.fail('nothing should be opened')
}

async function ordersIn(store: SqliteStore<SqliteHandle>): Promise<string[]> {
  const rows = await store.transaction(async (tx) => tx.prepare('select id from orders').all())
  return (rows as { id: string }[]).map((row) => row.id)
}

function schemaOf(handle: SqliteHandle): unknown[] {
  // A table that got columns later is described differently from one that was made with them.
  const plain = `replace(replace(replace(sql, char(10), ' '), '"', ''), '  ', '')`
  return handle
    .prepare(
      `select type, name, case when type = 'index' then ${plain} end as sql,
              (select json_group_array(json_array(name, type, "notnull", pk)) from pragma_table_info(sqlite_schema.name)) as columns
         from sqlite_schema
        order by name`,
    )
    .all()
}

function planOf(handle: SqliteHandle, sql: string): string[] {
  const nulls = Array.from(sql.matchAll(/\?/g), () => null)
  const steps = handle.prepare(`explain query plan ${sql}`).all(...nulls) as { detail: string }[]
  return steps.map((step) => step.detail)
}

async function pragmasOf(store: SqliteStore<DatabaseSync>): Promise<object> {
  return store.transaction(async (tx) =>
    ['journal_mode', 'synchronous', 'busy_timeout'].reduce(
      (pragmas, name) => ({ ...pragmas, ...tx.prepare(`pragma ${name}`).get() }),
      {},
    ),
  )
}

function kindsOf(results: readonly { readonly kind: string }[]): string[] {
  return results.map((result) => result.kind)
}
