import { deepEqual, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import 'reflect-metadata'
import { DataSource, EntitySchema } from 'typeorm'
import { typeormTransactions } from '../../src/transactions/typeorm.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const orders = new EntitySchema<{ id: string }>({
  name: 'orders',
  columns: { id: { type: 'text', primary: true } },
})

describeTransactions('TypeORM', postgresOrders, async (url) => {
  const dataSource = await new DataSource({ type: 'postgres', url, entities: [orders] }).initialize()
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

describe('a query runner of TypeORM', () => {
  it('can be written in through its entity manager while its transaction is open', async (test) => {
    const database = await postgresOrders()
    const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize()
    test.after(() => dataSource.destroy())
    test.after(() => database.drop())
    const transactions = typeormTransactions(dataSource)
    const queryRunner = dataSource.createQueryRunner()
    const insert = () =>
      transactions.storeTx(queryRunner.manager).query('insert into orders values ($1)', ['o-1'])
    throws(insert, { code: 'OUTBOX_NO_TRANSACTION' })
    await queryRunner.startTransaction()
    await insert()
    await queryRunner.commitTransaction()
    throws(insert, { code: 'OUTBOX_NO_TRANSACTION' })
    await queryRunner.release()
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })
})
