import { defineEntity, MikroORM, p } from '@mikro-orm/mariadb'
import { mikroOrmTransactions } from '../../src/transactions/mikro-orm.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const Order = defineEntity({ name: 'Order', tableName: 'orders', properties: { id: p.string().primary() } })

describeTransactions('MikroORM with mysql2', mariadbOrders, async (url) => {
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
