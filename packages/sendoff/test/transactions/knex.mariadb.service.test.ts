import knex from 'knex'
import { knexTransactions } from '../../src/transactions/knex.ts'
import { inCamelCase } from './camel-case.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

describeTransactions('Knex with mysql2', mariadbOrders, (url) => {
  const db = knex({ client: 'mysql2', connection: url, postProcessResponse: inCamelCase })
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
