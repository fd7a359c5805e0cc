import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { PGlite, type Transaction } from '@electric-sql/pglite'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sampleRow, sampleRows } from '../../../src/testing/store-checks/sample-rows.ts'

const lease = { owner: 'test', ms: 30_000 }
const ended = { name: 'OutboxError', code: 'OUTBOX_TRANSACTION_ENDED' }

describe('postgres store on PGlite', () => {
  const database = new PGlite()
  let made = 0
  after(() => database.close())

  it('a transaction whose failed statement was swallowed rejects', async () => {
    const store = await newStore()
    const swallowed = store.transaction(async (tx) => {
      await store.insert({ tx, rows: sampleRows(1), lease })
      await tx.query('select 1 / 0').catch(() => {})
    })

    await rejects(swallowed, { code: 'OUTBOX_ROLLED_BACK' })
    equal(await store.people.count({}), 0)
  })

  it('a transaction that its callback ended by hand rejects', async () => {
    const store = await newStore()
    await rejects(
      store.transaction((tx) => tx.rollback()),
      ended,
    )
    for (const word of ['commit', 'rollback']) {
      await rejects(
        store.transaction((tx) => tx.exec(word)),
        ended,
      )
    }
    await store.transaction((tx) => store.insert({ tx, rows: sampleRows(1), lease }))
    equal(await store.people.count({}), 1)
  })

  it('the handle of a transaction refuses to work once it ended', async () => {
    const store = await newStore()
    let late: Transaction | undefined
    await store.transaction(async (tx) => {
      late = tx
    })

    await rejects(async () => late!.query('select 1'), ended)
    await rejects(async () => store.insert({ tx: late!, rows: sampleRows(1), lease }), ended)
    equal(await store.inTransaction(late!), false)
  })

  it('rows are written in a transaction of PGlite itself, and the database is none', async () => {
    const store = await newStore()
    equal(await store.inTransaction(database as unknown as Transaction), false)
    let late: Transaction | undefined
    await database.transaction(async (tx) => {
      late = tx
      equal(await store.inTransaction(tx), true)
      const [row] = await store.insert({ tx, rows: sampleRows(1), lease })
      ok(row?.kind === 'inserted' && row.certain)
    })

    equal(await store.inTransaction(late!), false)
    equal(await store.people.count({}), 1)
  })

  it('a call that would wait for the transaction it is made in is refused', async () => {
    const store = await newStore()
    await store.transaction(async () => {
      await rejects(store.claim({ lease, limit: 1 }), { code: 'OUTBOX_INSIDE_TRANSACTION' })
    })
  })

  it('an isolation level can be chosen', async () => {
    const store = await newStore()
    const level = await store.transaction(
      async (tx) => (await tx.query<object>('show transaction_isolation')).rows,
      { isolation: 'repeatable read' },
    )

    deepEqual(level, [{ transaction_isolation: 'repeatable read' }])
  })

  it('listeners are called when a transaction commits', async () => {
    const store = await newStore()
    const called = Promise.withResolvers<void>()
    const stop = await store.wakeUps!.listen(() => called.resolve())
    await store.transaction((tx) => store.insert({ tx, rows: [sampleRow()], lease, announce: true }))
    await called.promise
    await stop()
    await store.close()
  })

  it('what is kept in memory is not called durable, nor open to other processes', async () => {
    deepEqual((await newStore()).capabilities, { durable: false, multiProcess: false })
  })

  async function newStore() {
    const store = postgresStore({ client: database, table: `test_${++made}` })
    await store.migrate()
    return store
  }
})
