import { deepEqual, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { Pool } from 'pg'
import postgres from 'postgres'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { postgresOrders } from './postgres-database.ts'
import { describeTransactions, subjectOf } from './transactions-suite.ts'

const orders = pgTable('orders', { id: text().primaryKey() })

describeTransactions('Drizzle with node-postgres', postgresOrders, (url) => {
  const pool = new Pool({ connectionString: url })
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

describeTransactions('Drizzle with postgres.js', postgresOrders, (url) => {
  const client = postgres(url)
  const db = drizzlePostgresJs(client)
  return subjectOf({
    transactions: drizzleTransactions(db),
    open: (work) => db.transaction(work),
    addOrder: (tx, id) => tx.insert(orders).values({ id }),
    run: (tx, text) => tx.execute(sql.raw(text)),
    outside: db,
    serializable: { isolationLevel: 'serializable' },
    afterSwallowedError: 'rejects',
    close: () => client.end(),
  })
})

describe('a transaction of Drizzle that has ended', () => {
  it('is refused, also while its connection serves another one', async (test) => {
    const database = await postgresOrders()
    const pool = new Pool({ connectionString: database.url, max: 1 })
    test.after(() => pool.end())
    test.after(() => database.drop())
    const transactions = drizzleTransactions(drizzle(pool))
    const ended = await transactions.transaction(async (tx) => ({ tx }))
    await transactions.transaction(async (tx) => {
      await tx.insert(orders).values({ id: 'o-1' })
      throws(() => transactions.storeTx(ended.tx), { code: 'OUTBOX_NO_TRANSACTION' })
    })
    deepEqual(await database.query('select id from orders'), [{ id: 'o-1' }])
  })
})
