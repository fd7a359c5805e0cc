import { equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MikroORM as MariadbMikroORM } from '@mikro-orm/mariadb'
import type { EntityManager as MysqlEntityManager, MikroORM as MysqlMikroORM } from '@mikro-orm/mysql'
import { type MikroORM, type SqlEntityManager } from '@mikro-orm/postgresql'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PgliteDatabase } from 'drizzle-orm/pglite'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { int, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import type { MySql2Database } from 'drizzle-orm/mysql2'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import type { Knex } from 'knex'
import type { Kysely, Transaction as KyselyTransaction } from 'kysely'
import type { Pool as MariadbPool } from 'mariadb'
import type { Pool as MysqlPool } from 'mysql2/promise'
import type { Pool } from 'pg'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import type { DataSource, EntityManager } from 'typeorm'
import { Outbox } from '../../src/outbox/outbox.ts'
import type { ListenerRegistry } from '../../src/route/listener-registry.ts'
import { mysqlStore } from '../../src/stores/mysql/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { drizzleTransactions } from '../../src/transactions/drizzle.ts'
import { knexTransactions } from '../../src/transactions/knex.ts'
import { kyselyTransactions } from '../../src/transactions/kysely.ts'
import { mikroOrmTransactions } from '../../src/transactions/mikro-orm.ts'
import { sequelizeTransactions } from '../../src/transactions/sequelize.ts'
import { typeormTransactions } from '../../src/transactions/typeorm.ts'
import type { EventWriter } from '../../src/write/event-writer.ts'

interface Given {
  readonly pool: Pool
  readonly listeners: ListenerRegistry
}

// The compiler does these checks: an expected error that does not occur is an error.
describe('the types of transactions', () => {
  const orders = pgTable('orders', { id: text().primaryKey(), total: integer().notNull() })
  interface Schema extends Record<string, unknown> {
    readonly orders: typeof orders
  }

  it('are those of Drizzle, with its schema and its options', () => {
    const typed = async (
      { pool, listeners }: Given,
      db: NodePgDatabase<Schema>,
      other: PostgresJsDatabase<Schema>,
      lite: PgliteDatabase<Schema>,
    ) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: drizzleTransactions(db),
        listeners,
      })
      await outbox.transaction(
        async (tx) => {
          await tx.insert(orders).values({ id: 'o-1', total: 1 })
          const found: number | undefined = (await tx.query.orders.findFirst())?.total
          // @ts-expect-error the schema has no such table
          void tx.query.customers
          // @ts-expect-error a total is a number
          await tx.insert(orders).values({ id: 'o-1', total: 'one' })
          return found
        },
        { isolationLevel: 'serializable', accessMode: 'read write', deferrable: true },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      await db.transaction((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error the database is no transaction
      await outbox.write('Any', 1, { tx: db })

      // Code that only writes names the transaction, and nothing else of the outbox.
      const writer: EventWriter<Parameters<Parameters<typeof db.transaction>[0]>[0]> = outbox
      await writer.transaction((tx) => tx.insert(orders).values({ id: 'o-2', total: 1 }))
      // @ts-expect-error it has no such level, since it does not say which options it takes
      await writer.transaction(async () => {}, { isolationLevel: 'serializable' })
      const withOptions: EventWriter<unknown, { readonly isolationLevel?: 'serializable' }> = outbox
      await withOptions.transaction(async () => {}, { isolationLevel: 'serializable' })

      await Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: drizzleTransactions(other),
        listeners,
      }).transaction((tx) => tx.query.orders.findMany(), { isolationLevel: 'repeatable read' })
      await Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: drizzleTransactions(lite),
        listeners,
      }).transaction((tx) => tx.query.orders.findMany())
    }
    equal(typeof typed, 'function')
  })

  it('are those of Kysely, with its tables and its levels', () => {
    interface Tables {
      readonly orders: { id: string; total: number }
    }
    const typed = async ({ pool, listeners }: Given, db: Kysely<Tables>) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: kyselyTransactions(db),
        listeners,
      })
      await outbox.transaction(
        async (tx) => {
          const transaction: KyselyTransaction<Tables> = tx
          await transaction.insertInto('orders').values({ id: 'o-1', total: 1 }).execute()
          // @ts-expect-error there is no such table
          tx.insertInto('customers')
        },
        { isolationLevel: 'serializable', accessMode: 'read write' },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      await db.transaction().execute((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error the database is no transaction
      await outbox.write('Any', 1, { tx: db })
    }
    equal(typeof typed, 'function')
  })

  it('are those of Knex, with its configuration', () => {
    const typed = async ({ pool, listeners }: Given, knex: Knex) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: knexTransactions(knex),
        listeners,
      })
      await outbox.transaction(
        async (tx) => {
          const transaction: Knex.Transaction = tx
          await transaction('orders').insert({ id: 'o-1' })
        },
        { isolationLevel: 'serializable', readOnly: false },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      await knex.transaction((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error knex itself is no transaction
      await outbox.write('Any', 1, { tx: knex })
    }
    equal(typeof typed, 'function')
  })

  it('are those of TypeORM, with its levels', () => {
    const typed = async ({ pool, listeners }: Given, dataSource: DataSource) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: typeormTransactions(dataSource),
        listeners,
      })
      await outbox.transaction(
        async (manager) => {
          const typedManager: EntityManager = manager
          await typedManager.save('orders', { id: 'o-1' })
        },
        { isolationLevel: 'SERIALIZABLE' },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'serializable' })
      await dataSource.transaction((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error the data source is no entity manager
      await outbox.write('Any', 1, { tx: dataSource })
    }
    equal(typeof typed, 'function')
  })

  it('are those of MikroORM, with its options', () => {
    const typed = async ({ pool, listeners }: Given, orm: MikroORM) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: mikroOrmTransactions(orm.em),
        listeners,
      })
      await outbox.transaction(
        async (em) => {
          const typedManager: SqlEntityManager = em
          await typedManager.execute('select 1')
          em.persist({})
        },
        { isolationLevel: 'serializable', readOnly: false, clear: true },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      // @ts-expect-error how transactions nest is not the caller's choice
      await outbox.transaction(async () => {}, { propagation: 'requires_new' })
      await orm.em.transactional((tx) => outbox.write('Any', 1, { tx }))
    }
    equal(typeof typed, 'function')
  })

  it('are those of Sequelize, with its options', () => {
    const typed = async (
      { pool, listeners }: Given,
      sequelize: Sequelize,
      levels: typeof SequelizeTransaction.ISOLATION_LEVELS,
    ) => {
      const outbox = Outbox.multiNode({
        store: postgresStore({ client: pool }),
        transactions: sequelizeTransactions(sequelize),
        listeners,
      })
      await outbox.transaction(
        async (transaction) => {
          const typedTransaction: SequelizeTransaction = transaction
          await sequelize.query('select 1', { transaction: typedTransaction })
        },
        { isolationLevel: levels.SERIALIZABLE, readOnly: false },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      await sequelize.transaction((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error sequelize itself is no transaction
      await outbox.write('Any', 1, { tx: sequelize })
    }
    equal(typeof typed, 'function')
  })

  it('are those of Drizzle on MySQL, with its schema and its options', () => {
    const mysqlOrders = mysqlTable('orders', { id: varchar({ length: 36 }).primaryKey(), total: int() })
    const typed = async (
      client: MysqlPool,
      { listeners }: Given,
      db: MySql2Database<{ orders: typeof mysqlOrders }>,
    ) => {
      const outbox = Outbox.multiNode({
        store: mysqlStore({ client }),
        transactions: drizzleTransactions(db),
        listeners,
      })
      await outbox.transaction(
        async (tx) => {
          await tx.insert(mysqlOrders).values({ id: 'o-1' })
          // @ts-expect-error the schema has no such table
          void tx.query.customers
        },
        { isolationLevel: 'serializable', withConsistentSnapshot: true },
      )
      // @ts-expect-error an option of PostgreSQL's
      await outbox.transaction(async () => {}, { deferrable: true })
      await db.transaction((tx) => outbox.write('Any', 1, { tx }))
      // @ts-expect-error the database is no transaction
      await outbox.write('Any', 1, { tx: db })
    }
    equal(typeof typed, 'function')
  })

  it('are those of MikroORM on MySQL and MariaDB', () => {
    const typed = async (
      client: MariadbPool,
      { listeners }: Given,
      orm: MysqlMikroORM,
      other: MariadbMikroORM,
    ) => {
      const store = mysqlStore({ client })
      const outbox = Outbox.multiNode({ store, transactions: mikroOrmTransactions(orm.em), listeners })
      await outbox.transaction(
        async (em) => {
          const typedManager: MysqlEntityManager = em
          typedManager.persist({})
        },
        { isolationLevel: 'serializable' },
      )
      // @ts-expect-error there is no such level
      await outbox.transaction(async () => {}, { isolationLevel: 'none' })
      await Outbox.multiNode({
        store,
        transactions: mikroOrmTransactions(other.em),
        listeners,
      }).transaction(async (em) => void em.persist({}))
    }
    equal(typeof typed, 'function')
  })

  it('of every kind fit the store of MySQL', () => {
    const typed = async (
      client: MysqlPool,
      { listeners }: Given,
      kysely: Kysely<{ orders: { id: string } }>,
      knex: Knex,
      dataSource: DataSource,
      sequelize: Sequelize,
    ) => {
      const store = mysqlStore({ client })
      await Outbox.multiNode({ store, listeners, transactions: kyselyTransactions(kysely) }).transaction(
        (tx) => tx.insertInto('orders').values({ id: 'o-1' }).execute(),
      )
      await Outbox.multiNode({ store, listeners, transactions: knexTransactions(knex) }).transaction(
        async (tx) => void (await tx('orders').insert({ id: 'o-1' })),
      )
      await Outbox.multiNode({ store, listeners, transactions: typeormTransactions(dataSource) }).transaction(
        (manager) => manager.save('orders', { id: 'o-1' }),
      )
      await Outbox.multiNode({
        store,
        listeners,
        transactions: sequelizeTransactions(sequelize),
      }).transaction((transaction) => sequelize.query('select 1', { transaction }))
    }
    equal(typeof typed, 'function')
  })
})
