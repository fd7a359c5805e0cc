import { deepEqual, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CamelCasePlugin, Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import { Pool } from 'pg'
import { kyselyTransactions } from '../../src/transactions/kysely.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

interface Tables {
  readonly orders: { id: string }
}

describeTransactions('Kysely', postgresOrders, (url) => {
  const pool = new Pool({ connectionString: url })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] })
  return subjectOf({
    transactions: kyselyTransactions(db),
    open: (work) => db.transaction().execute(work),
    addOrder: (tx, id) => tx.insertInto('orders').values({ id }).execute(),
    run: (tx, text) => sql.raw(text).execute(tx),
    outside: db,
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => db.destroy(),
  })
})

describe('a controlled transaction of Kysely', () => {
  it('can be written in until it has ended', async (test) => {
    const database = await postgresOrders()
    const pool = new Pool({ connectionString: database.url })
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    test.after(() => db.destroy())
    test.after(() => database.drop())
    const transactions = kyselyTransactions(db)
    const tx = await db.startTransaction().execute()
    const insert = () => transactions.storeTx(tx).query('insert into orders values ($1)', ['o-1'])
    await insert()
    await tx.commit().execute()
    await rejects(insert(), { code: 'OUTBOX_NO_TRANSACTION' })
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })
})

describe('a part of a transaction of Kysely that cannot be undone', () => {
  it('rejects with the error of that part', async (test) => {
    const database = await postgresOrders()
    const pool = new Pool({ connectionString: database.url })
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    test.after(() => db.destroy())
    test.after(() => database.drop())
    const transactions = kyselyTransactions(db)
    const failing = async (tx: Transaction<Tables>) => {
      await sql`rollback`.execute(tx)
      throw new Error('part says no')
    }
    await rejects(
      transactions.transaction((tx) => transactions.transaction(failing, tx)),
      /part says no/,
    )
  })
})
