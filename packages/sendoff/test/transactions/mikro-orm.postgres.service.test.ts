import { AsyncLocalStorage } from 'node:async_hooks'
import { deepEqual, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import { mikroOrmTransactions } from '../../src/transactions/mikro-orm.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const Order = defineEntity({ name: 'Order', tableName: 'orders', properties: { id: p.text().primary() } })

describeTransactions('MikroORM', postgresOrders, async (url) => {
  const orm = await MikroORM.init({ clientUrl: url, entities: [Order] })
  return subjectOf({
    transactions: mikroOrmTransactions(orm.em),
    open: (work) => orm.em.transactional(work),
    addOrder: (em, id) => em.insert(Order, { id }),
    run: (em, text) => em.execute(text),
    outside: orm.em.fork(),
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'resolves',
    close: () => orm.close(),
  })
})

describe('the entity manager of MikroORM', () => {
  const start = async (test: TestContext) => {
    const database = await postgresOrders()
    const orm = await MikroORM.init({ clientUrl: database.url, entities: [Order] })
    test.after(() => orm.close())
    test.after(() => database.drop())
    const orders = async () => (await database.query('select id from orders order by id')).map(({ id }) => id)
    return { em: orm.em, transactions: mikroOrmTransactions(orm.em), orders }
  }
  const insert = 'insert into orders values ($1)'

  it('is flushed before the commit, and undoes everything when that fails', async (test) => {
    const { transactions, orders } = await start(test)
    await transactions.transaction(async (em) => void em.create(Order, { id: 'o-1' }))
    await rejects(
      transactions.transaction(async (em) => {
        await transactions.storeTx(em).query(insert, ['o-2'])
        em.create(Order, { id: 'o-1' })
      }),
    )
    deepEqual(await orders(), ['o-1'])
  })

  it('is found in the transaction that it opened, without being passed on', async (test) => {
    const { em, transactions, orders } = await start(test)
    await em.transactional(() => transactions.storeTx(em).query(insert, ['o-1']))
    deepEqual(await orders(), ['o-1'])
  })

  it('does not run a transaction of the outbox in one that it opened itself', async (test) => {
    const { em, transactions, orders } = await start(test)
    await em.transactional(async () => {
      await rejects(
        transactions.transaction(async (inner) => void inner.create(Order, { id: 'o-1' })),
        { code: 'OUTBOX_INSIDE_TRANSACTION' },
      )
    })
    deepEqual(await orders(), [])
  })

  it('runs a transaction of code that outlived the one it began in', async (test) => {
    const { transactions, orders } = await start(test)
    const later = await transactions.transaction(async (em) => {
      em.create(Order, { id: 'o-1' })
      const inHere = AsyncLocalStorage.snapshot()
      return () => inHere(() => transactions.transaction(async (em) => void em.create(Order, { id: 'o-2' })))
    })
    await later()
    deepEqual(await orders(), ['o-1', 'o-2'])
  })
})
