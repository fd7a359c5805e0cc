import { ok } from 'node:assert/strict'
import { it } from 'node:test'
import type { Pool as MariadbPool, PoolConnection as MariadbConnection } from 'mariadb'
import type { Pool as CallbackPool } from 'mysql2'
import type { Pool, PoolConnection } from 'mysql2/promise'
import type { OutboxStore } from '../../../src/store/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/index.ts'

it('a store hands out the connections of its driver', () => {
  const onMysql2 = (client: Pool) => mysqlStore({ client })
  const onCallbacks = (client: CallbackPool) => mysqlStore({ client })
  const onMariadb = (client: MariadbPool) => mysqlStore({ client })

  type TxOf<Open extends (client: never) => unknown> =
    ReturnType<Open> extends OutboxStore<infer Tx> ? Tx : never
  type Same<A, B> = [A, B] extends [B, A] ? true : false
  const same: [
    Same<TxOf<typeof onMysql2>, PoolConnection>,
    Same<TxOf<typeof onCallbacks>, PoolConnection>,
    Same<TxOf<typeof onMariadb>, MariadbConnection>,
  ] = [true, true, true]
  ok(same.every(Boolean))
  ok([onMysql2, onCallbacks, onMariadb].every((open) => typeof open === 'function'))

  // @ts-expect-error a connection that was taken out of the pool is no pool
  void ((client: PoolConnection) => mysqlStore({ client }))
})
