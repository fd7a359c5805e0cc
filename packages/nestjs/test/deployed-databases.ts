import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Pool } from 'pg'
import type { SqlTx, Transactions } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { sqliteStore } from 'sendoff/sqlite'
import type { OutboxStore } from 'sendoff/store'

/** The database of a shop, with the transactions of an ORM. */
export interface DeployedDatabase {
  readonly store: OutboxStore<any>
  readonly transactions?: Transactions<any, SqlTx, any>
  readonly addOrder: (tx: any, id: string) => unknown
  /** Records that this release has delivered an event of the order. */
  readonly record: (table: 'shipments' | 'receipts', id: string, release: string) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

/** Opens the database at a URL, or of a folder with SQLite, by the name of the ORM. */
export const deployedDatabases = {
  async TypeORM(url) {
    const { DataSource } = await import('typeorm')
    const { typeormTransactions } = await import('sendoff/transactions/typeorm')
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize()
    return onPostgres(url, {
      transactions: typeormTransactions(dataSource),
      addOrder: (manager, id) => manager.query('insert into orders values ($1)', [id]),
      close: () => dataSource.destroy(),
    })
  },
  async Prisma(url) {
    const { PrismaPg } = await import('@prisma/adapter-pg')
    const { prismaTransactions } = await import('sendoff/transactions/prisma')
    const { PrismaClient } = await import(pathToFileURL(process.env['PRISMA_CLIENT_FILE']!).href)
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
    return onPostgres(url, {
      transactions: prismaTransactions<any, object>(prisma) as never,
      addOrder: (tx, id) => tx.order.create({ data: { id } }),
      close: () => prisma.$disconnect(),
    })
  },
  async Drizzle(url) {
    const { drizzle } = await import('drizzle-orm/node-postgres')
    const { pgTable, text } = await import('drizzle-orm/pg-core')
    const { drizzleTransactions } = await import('sendoff/transactions/drizzle')
    const pool = new Pool({ connectionString: url })
    const orders = pgTable('orders', { id: text().primaryKey() })
    return onPostgres(url, {
      transactions: drizzleTransactions(drizzle(pool)),
      addOrder: (tx, id) => tx.insert(orders).values({ id }),
      close: () => pool.end(),
    })
  },
  async MikroORM(url) {
    const { defineEntity, MikroORM, p } = await import('@mikro-orm/postgresql')
    const { mikroOrmTransactions } = await import('sendoff/transactions/mikro-orm')
    const properties = { id: p.text().primary() }
    const Order = defineEntity({ name: 'Order', tableName: 'orders', properties })
    const orm = await MikroORM.init({ clientUrl: url, entities: [Order] })
    return onPostgres(url, {
      transactions: mikroOrmTransactions(orm.em),
      addOrder: (em, id) => em.insert(Order, { id }),
      close: () => orm.close(),
    })
  },
  async SQLite(folder) {
    // Deliveries are recorded in another file: a write beside an open transaction would wait for it.
    const delivered = new DatabaseSync(`${folder}/delivered.db`, { timeout: 5_000 })
    return {
      store: sqliteStore({ open: () => new DatabaseSync(`${folder}/shop.db`) }),
      addOrder: (tx: DatabaseSync, id) => tx.prepare('insert into orders (id) values (?)').run(id),
      record: async (table, id, release) =>
        delivered.prepare(`insert into ${table} values (?, ?)`).run(id, release),
      close: async () => delivered.close(),
    }
  },
} satisfies Record<string, (url: string) => Promise<DeployedDatabase>>

export type DeployedDatabaseName = keyof typeof deployedDatabases

function onPostgres(
  url: string,
  orm: Pick<Required<DeployedDatabase>, 'transactions' | 'addOrder' | 'close'>,
): DeployedDatabase {
  const pool = new Pool({ connectionString: url })
  return {
    ...orm,
    store: postgresStore({ client: pool }),
    record: (table, id, release) => pool.query(`insert into ${table} values ($1, $2)`, [id, release]),
    async close() {
      await orm.close()
      await pool.end()
    },
  }
}
