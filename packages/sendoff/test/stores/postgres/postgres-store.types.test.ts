import type { PGlite } from '@electric-sql/pglite'
import { type Transaction } from '@electric-sql/pglite'
import { ok } from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import type { OutboxStore } from '../../../src/store/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

it('a store hands out the transactions of its driver', () => {
  const pool = new pg.Pool()
  const sql = postgres({ max: 1 })

  const onPg = postgresStore({ client: pool })
  const onPostgresJs = postgresStore({ client: sql })
  const onPglite = (database: PGlite) => postgresStore({ client: database })

  onPg satisfies OutboxStore<pg.PoolClient>
  onPostgresJs satisfies OutboxStore<postgres.TransactionSql>
  onPglite satisfies (database: PGlite) => OutboxStore<Transaction>
  ok(onPg !== undefined && onPostgresJs !== undefined)

  type TxOf<Store> = Store extends OutboxStore<infer Tx> ? Tx : never
  type Same<A, B> = [A, B] extends [B, A] ? true : false
  const same: [
    Same<TxOf<typeof onPg>, pg.PoolClient>,
    Same<TxOf<typeof onPostgresJs>, postgres.TransactionSql>,
    Same<TxOf<ReturnType<typeof onPglite>>, Transaction>,
  ] = [true, true, true]
  ok(same.every(Boolean))

  // @ts-expect-error a client that was taken out of the pool is no pool
  void ((client: pg.PoolClient) => postgresStore({ client }))
})
