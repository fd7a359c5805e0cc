import { DataTypes, Sequelize, Transaction } from 'sequelize'
import { sequelizeTransactions } from '../../src/transactions/sequelize.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

describeTransactions('Sequelize with mysql2', mariadbOrders, (url) => {
  const sequelize = new Sequelize(url, { logging: false })
  const id = { type: DataTypes.STRING, primaryKey: true }
  const Order = sequelize.define('orders', { id }, { timestamps: false })
  return subjectOf({
    transactions: sequelizeTransactions(sequelize),
    open: (work) => sequelize.transaction(work),
    addOrder: (transaction, id) => Order.create({ id }, { transaction }),
    run: (transaction, text) => sequelize.query(text, { transaction }),
    outside: sequelize,
    serializable: { isolationLevel: Transaction.ISOLATION_LEVELS.SERIALIZABLE },
    // Sequelize itself rolls back after a deadlock, and then refuses to commit.
    afterSwallowedError: 'rejects',
    close: () => sequelize.close(),
  })
})
