import { CamelCasePlugin, Kysely, MysqlDialect, sql } from 'kysely'
import { createPool } from 'mysql2'
import { kyselyTransactions } from '../../src/transactions/kysely.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

interface Tables {
  readonly orders: { id: string }
}

describeTransactions('Kysely with mysql2', mariadbOrders, (url) => {
  const dialect = new MysqlDialect({ pool: createPool(url) })
  const db = new Kysely<Tables>({ dialect, plugins: [new CamelCasePlugin()] })
  return subjectOf({
    transactions: kyselyTransactions(db),
    open: (work) => db.transaction().execute(work),
    addOrder: (tx, id) => tx.insertInto('orders').values({ id }).execute(),
    run: (tx, text) => sql.raw(text).execute(tx),
    outside: db,
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'resolves',
    close: () => db.destroy(),
  })
})
