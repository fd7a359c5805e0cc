import { Pool, type PoolClient } from 'pg'
import postgres, { type Sql, type TransactionSql } from 'postgres'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeDriver, transactionsOf } from './drivers-suite.ts'
import { postgresOrders } from './postgres-database.ts'
import { subjectOf } from './transactions-suite.ts'

describeDriver('pg', postgresOrders, (url) => {
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

describeDriver('postgres.js', postgresOrders, (url) => {
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
