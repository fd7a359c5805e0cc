import { after, before, describe } from 'node:test'
import { Pool, type PoolClient } from 'pg'
import postgres, { type Sql, type TransactionSql } from 'postgres'
import type { OutboxStore } from '../../src/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { Transactions } from '../../src/transactions.ts'
import { describeOutbox } from './outbox-suite.ts'
import { ordersDatabase, type TestDatabase } from './test-database.ts'
import { type Subject, subjectOf } from './transactions-suite.ts'

// The drivers that stores can run transactions of themselves: here on connections that are not the outbox's own.

describeDriver('pg', (url) => {
  const pool = new Pool({ connectionString: url })
  return subjectOf({
    transactions: transactionsOf<PoolClient>(postgresStore({ client: pool })),
    async open(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const result = await work(client)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    addOrder: (client, id) => client.query('insert into orders values ($1)', [id]),
    run: (client, text) => client.query(text),
    outside: pool,
    serializable: { isolation: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => pool.end(),
  })
})

describeDriver('postgres.js', (url) => {
  const sql = postgres(url)
  return subjectOf({
    transactions: transactionsOf<TransactionSql>(postgresStore({ client: sql as never })),
    open: (work) => sql.begin(work) as Promise<never>,
    addOrder: (tx, id) => tx`insert into orders values (${id})`,
    run: (tx, text) => tx.unsafe(text),
    outside: sql satisfies Sql,
    serializable: { isolation: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => sql.end(),
  })
})

function describeDriver<Tx>(name: string, open: (url: string) => Subject<Tx, object>): void {
  describe(`the transactions of ${name}`, () => {
    let database: TestDatabase
    let subject: Subject<Tx, object>

    before(async () => {
      database = await ordersDatabase()
      subject = open(database.url)
    })
    after(async () => {
      await subject.close()
      await database.drop()
    })
    describeOutbox(() => ({ database, subject }))
  })
}

function transactionsOf<Tx>(store: OutboxStore<Tx>): Transactions<Tx, never> {
  return {
    confirmsCommit: true,
    transaction: (work, within, options) => store.transaction(work, within, options),
    storeTx: (tx) => tx as never,
  }
}
