import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { NewRow, StoreWith } from '../../../src/store/index.ts'
import { isOnMysql } from '../../../../../test/services/servers/mysql/on-mysql.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'
import { eventIds, leaseOf } from '../../../src/testing/store-checks/check-steps.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'
import { faultProxy } from '../../../../../test/services/proxy/fault-proxy.ts'
import { MysqlDatabase, serverAddress } from './mysql-database.ts'

const lease = leaseOf('writer')

/** A connection of either driver, as far as these tests use one. */
interface TestTx {
  query(sql: string, values?: unknown[]): Promise<unknown>
}

interface TestPool {
  query(sql: string): Promise<unknown>
  getConnection(): Promise<
    TestTx & { release(): unknown; beginTransaction(): Promise<void>; rollback(): Promise<void> }
  >
}

const database = await MysqlDatabase.create('transactions')
after(() => database.drop())

const drivers: Readonly<Record<string, (options?: object) => TestPool>> = {
  mysql2: (options) => database.mysql2Pool(options),
  mariadb: (options) => database.mariadbPool(options),
}

for (const [driver, openPool] of Object.entries(drivers)) {
  describe(`mysql store: transactions of ${driver}`, () => {
    const pool = openPool()
    const store = storeOn(pool)

    before(async () => {
      await store.migrate()
      await pool.query(
        'create table if not exists orders (id int primary key, total int not null) engine = InnoDB',
      )
    })
    beforeEach(async () => {
      for (const table of ['orders', 'outbox_event', 'outbox_event_idempotency'])
        await pool.query(`delete from ${table}`)
    })

    it('a statement that failed and was swallowed is undone alone: the rest is kept', async () => {
      const row = sampleRow()
      await store.transaction(async (tx) => {
        await tx.query('insert into orders values (1, 1)')
        await rejects(tx.query('insert into orders values (1, 2)'), { errno: 1062 })
        await store.insert({ tx, rows: [row], lease })
      })

      deepEqual(await orders(), [1])
      deepEqual(eventIds(await store.people.query({ limit: 10 })), [row.eventId])
    })

    it('an insert that failed and was swallowed leaves nothing of it behind, and the rest is kept', async () => {
      const taken = sampleRow()
      await store.transaction((tx) => store.insert({ tx, rows: [taken], lease }))
      const keyed = sampleRow({ idempotencyKey: 'key' })
      await store.transaction(async (tx) => {
        await tx.query('insert into orders values (1, 1)')
        const many = [...sampleRows(1_500), taken]
        await rejects(store.insert({ tx, rows: many, lease }), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
        const withKey = [{ ...taken, idempotencyKey: 'key' }]
        await rejects(store.insert({ tx, rows: withKey, lease }), { code: 'OUTBOX_DUPLICATE_EVENT_ID' })
        await store.insert({ tx, rows: [keyed], lease })
      })

      deepEqual(eventIds(await store.people.query({ limit: 10 })), eventIds([taken, keyed]))
      deepEqual(await orders(), [1])
    })

    it('a duplicate is named among many, and within one batch', async () => {
      const [first, second, third] = sampleRows(3)
      const twice = { ...second!, destination: 'billing' }
      await rejects(
        store.transaction((tx) => store.insert({ tx, rows: [first!, twice, third!, twice], lease })),
        new RegExp(`${second!.eventId} was written before for destination "billing"`),
      )
    })

    it('a claim by key gets a row that somebody locks who tries to write it again', async () => {
      const row = sampleRow()
      await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))
      const connection = await pool.getConnection()
      await connection.beginTransaction()
      await rejects(store.insert({ tx: connection, rows: [row], lease }), {
        code: 'OUTBOX_DUPLICATE_EVENT_ID',
      })
      const other = sampleRow()
      const claimed = store.claim({ lease, limit: 10, rows: [row, other] })
      // Meanwhile the claim has seen that it cannot have the row.
      for (let asked = 0; asked < 5; asked += 1) await store.people.count({})
      await connection.rollback()
      await connection.release()

      deepEqual(eventIds(await claimed), [row.eventId])
    })

    it('a key that was used by the very same event is used, and its row not added again', async () => {
      const row = sampleRow({ idempotencyKey: 'key' })
      const insert = () => store.transaction((tx) => store.insert({ tx, rows: [row], lease }))
      const [first] = await insert()
      equal(first!.kind, 'inserted')
      deepEqual(await insert(), [{ kind: 'duplicate', eventId: row.eventId }])

      await pool.query('delete from outbox_event')
      deepEqual(await insert(), [{ kind: 'duplicate', eventId: row.eventId }])
      equal(await store.people.count({}), 0)
    })

    describe('a deadlock', () => {
      beforeEach(() => pool.query('insert into orders values (1, 0), (2, 0)'))

      it('comes out as it is, and leaves nothing half-written', async () => {
        const results = await deadlock(async (tx, name, update) => {
          await store.insert({ tx, rows: [sampleRow({ eventId: `first-${name}` })], lease })
          await update()
          await store.insert({ tx, rows: [sampleRow({ eventId: `second-${name}` })], lease })
        })

        equal((results.failed as { errno?: number }).errno, 1213)
        await onlyTheOther(results.survivor)
      })

      it('that is swallowed fails the transaction, and nothing after it is written', async () => {
        const results = await deadlock(async (tx, name, update) => {
          await store.insert({ tx, rows: [sampleRow({ eventId: `first-${name}` })], lease })
          const failed = await update().then(
            () => false,
            () => true,
          )
          const second = store.insert({ tx, rows: [sampleRow({ eventId: `second-${name}` })], lease })
          if (!failed) return void (await second)

          await rejects(second, { code: 'OUTBOX_ROLLED_BACK' })
          await rejects(tx.query('insert into orders values (3, 3)'), { code: 'OUTBOX_ROLLED_BACK' })
        })

        equal((results.failed as { code?: string }).code, 'OUTBOX_ROLLED_BACK')
        await onlyTheOther(results.survivor)
      })

      it('in a nested transaction whose failure is swallowed fails the whole', async () => {
        const results = await deadlock(async (tx, name, update) => {
          await store.insert({ tx, rows: [sampleRow({ eventId: `first-${name}` })], lease })
          await store.transaction(() => update(), { within: tx }).catch(() => {})
          await store.insert({ tx, rows: [sampleRow({ eventId: `second-${name}` })], lease }).catch(() => {})
        })

        equal((results.failed as { code?: string }).code, 'OUTBOX_ROLLED_BACK')
        await onlyTheOther(results.survivor)
      })

      it('of a statement that nobody awaited fails the transaction', async () => {
        const results = await deadlock(async (tx, name, update) => {
          await store.insert({ tx, rows: [sampleRow({ eventId: `first-${name}` })], lease })
          await store.insert({ tx, rows: [sampleRow({ eventId: `second-${name}` })], lease })
          void update().catch(() => {})
        })

        equal((results.failed as { code?: string }).code, 'OUTBOX_ROLLED_BACK')
        await onlyTheOther(results.survivor)
      })

      type Work = (tx: TestTx, name: string, update: () => Promise<unknown>) => Promise<void>

      /** Runs two transactions that each lock an order and then change the other's. */
      async function deadlock(work: Work): Promise<{ failed: unknown; survivor: string }> {
        // Ids that were used before, and deleted, would be in each other's way too.
        const names = sampleRows(2).map((row) => row.eventId)
        const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const run = (index: number) =>
          store.transaction(async (tx) => {
            await tx.query(`update orders set total = total + 1 where id = ${index + 1}`)
            locked[index]!.resolve()
            await locked[1 - index]!.promise
            await work(tx, names[index]!, () =>
              tx.query(`update orders set total = total + 1 where id = ${2 - index}`),
            )
          })
        const outcomes = await Promise.allSettled([run(0), run(1)])

        const failed = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
        )
        equal(failed.length, 1, 'one of the two should have failed')
        return { failed: failed[0], survivor: names[outcomes[0].status === 'fulfilled' ? 0 : 1]! }
      }

      async function onlyTheOther(survivor: string): Promise<void> {
        deepEqual(eventIds(await store.people.query({ limit: 10 })), [
          `first-${survivor}`,
          `second-${survivor}`,
        ])
        deepEqual(await column('select total from orders order by id'), [1, 1])
      }
    })

    for (const [name, sql] of Object.entries({
      COMMIT: 'commit',
      ROLLBACK: 'ROLLBACK',
      'a new BEGIN': '  begin',
      'a change of the schema': 'create table if not exists other (id int)',
      'a change of the schema behind a comment': '/* a comment */ create table if not exists other (id int)',
    })) {
      it(`${name} by hand fails the transaction`, async () => {
        const ended = store.transaction(async (tx) => {
          await tx.query(sql)
        })
        await rejects(ended, { code: 'OUTBOX_TRANSACTION_ENDED' })
      })
    }

    it('a ROLLBACK and a new BEGIN by hand fail it, since what was written before is gone', async () => {
      for (const ways of [
        ['rollback', 'begin'],
        ['rollback', 'beginTransaction'],
      ]) {
        const ended = store.transaction(async (tx) => {
          const [written] = await store.insert({ tx, rows: [sampleRow()], lease })
          ok(written?.kind === 'inserted' && written.certain)
          const methods = tx as unknown as Record<string, () => Promise<void>>
          for (const way of ways) await (way in methods ? methods[way]!() : tx.query(way))
        })
        await rejects(ended, { code: 'OUTBOX_TRANSACTION_ENDED' })
      }
      equal(await store.people.count({}), 0)
    })

    it('an insert after COMMIT by hand is refused, as it would be kept alone', async () => {
      const ended = store.transaction(async (tx) => {
        await tx.query('commit')
        await rejects(store.insert({ tx, rows: [sampleRow()], lease }), { code: 'OUTBOX_TRANSACTION_ENDED' })
      })
      await rejects(ended, { code: 'OUTBOX_TRANSACTION_ENDED' })
      equal(await store.people.count({}), 0)
    })

    it('rows are certain until a savepoint may be open', async () => {
      const certain = async (tx: TestTx, row: NewRow = sampleRow()) => {
        const [result] = await store.insert({ tx, rows: [row], lease })
        ok(result?.kind === 'inserted')
        return result.certain
      }
      await store.transaction(async (tx) => {
        await tx.query('select 1')
        equal(await certain(tx), true)
        await store.transaction(
          async (inner) => {
            equal(await certain(inner), false)
            equal(await certain(tx), false)
          },
          { within: tx },
        )
        equal(await certain(tx), true)
        await tx.query('savepoint by_hand')
        equal(await certain(tx), false)
      })
      await store.transaction(async (tx) => {
        await (tx as unknown as { prepare(sql: string): Promise<unknown> }).prepare('select 1')
        equal(await certain(tx), false)
      })
    })

    it('a connection that somebody else has begun a transaction on takes inserts, and is asked if it is open', async () => {
      const connection = await pool.getConnection()
      equal(await store.inTransaction(connection), false)
      await connection.beginTransaction()
      equal(await store.inTransaction(connection), true)
      const [result] = await store.insert({ tx: connection, rows: [sampleRow()], lease })
      ok(result?.kind === 'inserted' && !result.certain)
      await store.transaction((inner) => store.insert({ tx: inner, rows: [sampleRow()], lease }), {
        within: connection,
      })
      await rejects(
        store.transaction(
          async (inner) => {
            await store.insert({ tx: inner, rows: [sampleRow()], lease })
            throw new Error('undo')
          },
          { within: connection },
        ),
        /undo/,
      )
      await connection.query('commit')
      equal(await store.inTransaction(connection), false)
      equal(await store.people.count({}), 2)

      await connection.query('set autocommit = 0')
      equal(await store.inTransaction(connection), true)
      equal(await store.inTransaction(foreignTx(connection)), true)
      await store.insert({ tx: connection, rows: [sampleRow()], lease })
      equal(await store.people.count({}), 2)
      await connection.query('commit')
      await store.insert({ tx: foreignTx(connection), rows: [sampleRow()], lease })
      await connection.query('set autocommit = 1')
      equal(await store.people.count({}), 4)
      await connection.release()
    })

    const skip = isOnMysql && 'MySQL has no expression that fails outside of a transaction'
    it(
      'rows are refused on a connection without a transaction, where they would be kept by themselves',
      {
        skip,
      },
      async () => {
        const connection = await pool.getConnection()
        const ended = { code: 'OUTBOX_TRANSACTION_ENDED' }
        const rows = [sampleRow({ idempotencyKey: 'key' }), ...sampleRows(3)]
        await rejects(store.insert({ tx: connection, rows, lease }), ended)
        await rejects(store.insert({ tx: foreignTx(connection), rows, lease }), ended)
        await connection.query(`set session sql_mode = ''`)
        await rejects(store.insert({ tx: connection, rows, lease }), ended)
        await connection.query('set session sql_mode = default')
        await connection.release()

        equal(await store.people.count({}), 0)
        await store.transaction((tx) => store.insert({ tx, rows, lease }))
        equal(await store.people.count({}), 4)
      },
    )

    it('any handle with query(text, values) takes inserts, and is asked if it is in a transaction', async () => {
      const connection = await pool.getConnection()
      const tx = foreignTx(connection)
      equal(await store.inTransaction(tx), false)
      await connection.beginTransaction()
      equal(await store.inTransaction(tx), true)
      const rows = [sampleRow({ idempotencyKey: 'key' }), ...sampleRows(3)]
      const results = await store.insert({ tx, rows, lease })
      const [single] = await store.insert({ tx, rows: [sampleRow()], lease })
      await connection.query('commit')
      await connection.release()

      const seqs = (await store.people.query({ limit: 10 })).map((row) => row.seq)
      deepEqual(
        [...results, single!].map((result) => result.kind === 'inserted' && [result.seq, result.certain]),
        seqs.map((seq) => [seq, false]),
      )
    })

    it('a pool is no transaction', async () => {
      equal(await store.inTransaction(pool as unknown as TestTx), false)
      throws(() => store.insert({ tx: pool, rows: [sampleRow()], lease }), {
        code: 'OUTBOX_NO_TRANSACTION',
      })
    })

    it('a handle ends with its transaction, and releasing it inside is left to the store', async () => {
      const ended = await store.transaction(async (tx) => {
        await (tx as unknown as { release(): unknown }).release()
        await tx.query('insert into orders values (1, 1)')
        return { tx }
      })

      await rejects(ended.tx.query('select 1'), { code: 'OUTBOX_TRANSACTION_ENDED' })
      throws(() => store.insert({ tx: ended.tx, rows: [sampleRow()], lease }), {
        code: 'OUTBOX_TRANSACTION_ENDED',
      })
      deepEqual(await orders(), [1])
    })

    it('the isolation asked for holds for that transaction alone', async () => {
      const seenTwice = (isolation?: 'read committed') =>
        store.transaction(async (tx) => {
          const count = 'select count(*) as count from orders'
          const first = valuesOf(await tx.query(count))
          await pool.query(`insert into orders select coalesce(max(id), 0) + 1, 0 from orders`)
          return deepEqualValues(first, valuesOf(await tx.query(count)))
        }, isolation && { isolation })

      equal(await seenTwice('read committed'), false)
      equal(await seenTwice(), true)
    })

    it('numbers of rows are right where a server counts in steps', async () => {
      const rows = sampleRows(3)
      const results = await store.transaction(async (tx) => {
        await tx.query('set session auto_increment_increment = 7')
        const answer = await store.insert({ tx, rows, lease })
        await tx.query('set session auto_increment_increment = 1')
        return answer
      })

      deepEqual(
        results.map((result) => result.kind === 'inserted' && result.seq),
        (await store.people.query({ limit: 10 })).map((row) => row.seq),
      )
    })

    it('a lost answer to COMMIT is an outcome nobody knows', async () => {
      const proxy = await faultProxy(process.env['MARIADB_URL']!)
      const { host, port } = serverAddress(proxy.url)
      const proxied = storeOn(openPool({ host, port }))
      const row = sampleRow()
      const lost = proxy.loseNextAnswerTo('commit')
      await rejects(
        proxied.transaction((tx) => proxied.insert({ tx, rows: [row], lease })),
        { code: 'OUTBOX_COMMIT_UNKNOWN' },
      )
      await lost
      await proxy.close()

      deepEqual(eventIds(await store.people.query({ limit: 10 })), [row.eventId])
    })

    it('a connection that was lost before COMMIT fails the transaction, and the next one works', async () => {
      const failed = store.transaction(async (tx) => {
        const [id] = valuesOf(await tx.query('select connection_id() as id'))
        await store.insert({ tx, rows: [sampleRow()], lease })
        await pool.query(`kill ${String(id)}`)
        await tx.query('insert into orders values (1, 1)')
      })
      await rejects(failed)
      await store.transaction((tx) => store.insert({ tx, rows: [sampleRow({ eventId: 'next' })], lease }))

      deepEqual(eventIds(await store.people.query({ limit: 10 })), ['next'])
    })

    async function orders(): Promise<unknown[]> {
      return column('select id from orders order by id')
    }

    async function column(sql: string): Promise<unknown[]> {
      return valuesOf(await pool.query(sql))
    }
  })
}

describe('mysql store: transactions of mysql2 with callbacks', () => {
  it('its pool and its connections are used by their promises', async () => {
    const pool = database.mysql2Pool()
    const store = mysqlStore({ client: pool.pool as never }) as unknown as StoreWith<object, 'people'>
    await store.migrate()
    const row = sampleRow()
    await store.transaction((tx) => store.insert({ tx, rows: [row], lease }))
    deepEqual(eventIds(await store.people.query({ eventId: row.eventId, limit: 10 })), [row.eventId])

    const connection = await pool.getConnection()
    const callbacks = connection.connection
    equal(await store.inTransaction(callbacks), false)
    await connection.beginTransaction()
    equal(await store.inTransaction(callbacks), true)
    await store.insert({ tx: callbacks, rows: [sampleRow({ eventId: 'by callbacks' })], lease })
    await connection.rollback()
    connection.release()
    deepEqual(await store.people.query({ eventId: 'by callbacks', limit: 10 }), [])
  })
})

describe('mysql store: a pool of one connection', () => {
  it('refuses what would wait for the transaction that it is made in', async () => {
    const store = storeOn(database.mysql2Pool({ connectionLimit: 1 }))
    await store.migrate()
    await store.transaction(async (tx) => {
      await store.insert({ tx, rows: [sampleRow()], lease })
      await rejects(store.claim({ lease, limit: 1 }), { code: 'OUTBOX_INSIDE_TRANSACTION' })
    })
    equal((await store.claim({ lease, limit: 100 })).length > 0, true)
  })
})

function storeOn(pool: TestPool): StoreWith<TestTx, 'people'> {
  return mysqlStore({ client: pool as never })
}

/** What an adapter makes of an ORM's transaction. */
function foreignTx(connection: TestTx): TestTx {
  return {
    query: async (text, values = []) => ({ rows: rowsOf(await connection.query(text, values)) }),
  }
}

/** The values of the first column, whichever driver has answered. */
function valuesOf(answer: unknown): unknown[] {
  return rowsOf(answer).map((row) => Object.values(row as object)[0] as unknown)
}

function rowsOf(answer: unknown): unknown[] {
  const rows = Array.isArray(answer) && Array.isArray(answer[0]) ? (answer[0] as unknown[]) : answer
  return Array.isArray(rows) ? rows : []
}

function deepEqualValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.map(String).join() === b.map(String).join()
}
