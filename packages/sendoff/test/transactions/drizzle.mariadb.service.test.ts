import { sql } from 'drizzle-orm'
import { mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql2'
import { createPool } from 'mysql2/promise'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const orders = mysqlTable('orders', { id: varchar({ length: 100 }).primaryKey() })

describeTransactions('Drizzle with mysql2', mariadbOrders, (url) => {
  const pool = createPool(url)
  const db = drizzle(pool)
  return subjectOf({
    transactions: drizzleTransactions(db),
    open: (work) => db.transaction(work),
    addOrder: (tx, id) => tx.insert(orders).values({ id }),
    run: (tx, text) => tx.execute(sql.raw(text)),
    outside: db,
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'resolves',
    close: () => pool.end(),
  })
})
