import { deepEqual, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DataTypes, Sequelize, Transaction } from 'sequelize'
import { sequelizeTransactions } from '../../src/transactions/sequelize.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

describeTransactions('Sequelize', postgresOrders, (url) => {
  const sequelize = new Sequelize(url, { logging: false })
  const id = { type: DataTypes.TEXT, primaryKey: true }
  const Order = sequelize.define('orders', { id }, { timestamps: false })
  return subjectOf({
    transactions: sequelizeTransactions(sequelize),
    open: (work) => sequelize.transaction(work),
    addOrder: (transaction, id) => Order.create({ id }, { transaction }),
    run: (transaction, text) => sequelize.query(text, { transaction }),
    outside: sequelize,
    serializable: { isolationLevel: Transaction.ISOLATION_LEVELS.SERIALIZABLE },
    afterSwallowedError: 'resolves',
    close: () => sequelize.close(),
  })
})

describe('a transaction of Sequelize without a callback', () => {
  it('can be written in until it has ended', async (test) => {
    const database = await postgresOrders()
    const sequelize = new Sequelize(database.url, { logging: false })
    test.after(() => sequelize.close())
    test.after(() => database.drop())
    const transactions = sequelizeTransactions(sequelize)
    const tx = await sequelize.transaction()
    const insert = () => transactions.storeTx(tx).query('insert into orders values ($1)', ['o-1'])
    await insert()
    await tx.commit()
    throws(insert, { code: 'OUTBOX_NO_TRANSACTION' })
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })
})
