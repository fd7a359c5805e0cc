import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import knex, { type Knex } from 'knex'
import { Pool } from 'pg'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { knexTransactions } from '../../src/transactions/knex.ts'
import { startOutbox } from '../fixtures/outbox-fixture.ts'
import { inCamelCase } from './camel-case.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

describeTransactions('Knex', postgresOrders, (url) => {
  const db = knex({ client: 'pg', connection: url, postProcessResponse: inCamelCase })
  return subjectOf({
    transactions: knexTransactions(db),
    open: (work) => db.transaction(work),
    addOrder: (tx, id) => tx('orders').insert({ id }),
    run: (tx, text) => tx.raw(text),
    outside: db,
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'resolves',
    close: () => db.destroy(),
  })
})

describe('a transaction of Knex without a callback', () => {
  it('can be written in until it has ended', async (test) => {
    const database = await postgresOrders()
    const db = knex({ client: 'pg', connection: database.url })
    test.after(() => db.destroy())
    test.after(() => database.drop())
    const transactions = knexTransactions(db)
    const tx = await db.transaction()
    const insert = () => transactions.storeTx(tx).query('insert into orders values ($1)', ['o-1'])
    await insert()
    await tx.commit()
    throws(insert, { code: 'OUTBOX_NO_TRANSACTION' })
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })
})

describe('a transaction of Knex that is rolled back by hand', () => {
  it('resolves, and delivers nothing', async (test) => {
    const database = await postgresOrders()
    const db = knex({ client: 'pg', connection: database.url })
    const pool = new Pool({ connectionString: database.url })
    const { outbox, store, metrics, listener } = await startOutbox(test, postgresStore({ client: pool }), {
      transactions: knexTransactions(db) as never,
    })
    test.after(() => db.destroy())
    test.after(() => pool.end())
    test.after(() => database.drop())

    await outbox.transaction(async (tx: Knex.Transaction) => {
      await outbox.write('Tested', 'lost')
      await tx.rollback()
    })
    equal(await store.people.count({}), 0)
    await outbox.transaction(() => outbox.write('Tested', 'kept'))
    await metrics.until((seen) => seen.dispatchSuccess === 1)
    deepEqual(listener.payloads, ['kept'])
  })
})
