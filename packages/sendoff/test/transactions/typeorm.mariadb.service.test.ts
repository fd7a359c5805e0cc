import 'reflect-metadata'
import { DataSource, EntitySchema } from 'typeorm'
import { typeormTransactions } from '../../src/transactions/typeorm.ts'
import { mariadbOrders } from './mariadb-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const orders = new EntitySchema<{ id: string }>({
  name: 'orders',
  columns: { id: { type: 'varchar', primary: true } },
})

describeTransactions('TypeORM with mysql2', mariadbOrders, async (url) => {
  const dataSource = await new DataSource({ type: 'mariadb', url, entities: [orders] }).initialize()
  return subjectOf({
    transactions: typeormTransactions(dataSource),
    open: (work) => dataSource.transaction(work),
    addOrder: (manager, id) => manager.insert(orders, { id }),
    run: (manager, text) => manager.query(text),
    outside: dataSource.manager,
    serializable: { isolationLevel: 'SERIALIZABLE' },
    afterSwallowedError: 'resolves',
    close: () => dataSource.destroy(),
  })
})
