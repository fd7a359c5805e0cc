import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import {
  Controller,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  Param,
  Post,
  type Type,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  ClsPluginTransactional,
  Propagation,
  Transactional,
  type TransactionalAdapter,
  TransactionHost,
} from '@nestjs-cls/transactional'
import { PrismaPg } from '@prisma/adapter-pg'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { Kysely, PostgresDialect } from 'kysely'
import { ClsModule } from 'nestjs-cls'
import { Pool } from 'pg'
import type { EventEnvelope, EventWriter, Outbox, SqlTx, Transactions } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { sqliteStore } from 'sendoff/sqlite'
import { drizzleTransactions } from 'sendoff/transactions/drizzle'
import { kyselyTransactions } from 'sendoff/transactions/kysely'
import { mikroOrmTransactions } from 'sendoff/transactions/mikro-orm'
import { prismaTransactions } from 'sendoff/transactions/prisma'
import { typeormTransactions } from 'sendoff/transactions/typeorm'
import { DataSource, type EntityManager, EntitySchema } from 'typeorm'
import {
  getOutboxToken,
  InjectOutbox,
  OutboxListener,
  OutboxModule,
  OutboxTransactionalAdapter,
} from '@sendoff/nestjs'
import { postgresDatabase, type PostgresDatabase } from '../../sendoff/test/transactions/postgres-database.ts'
import { PrismaProject } from '../../sendoff/test/transactions/prisma-project.ts'
import { OrderPlaced } from './order-events.ts'

/** A service that adds an order in the transaction of the outbox. */
interface OrderService {
  place(id: string): Promise<void>
}

const orderEntity = new EntitySchema<{ id: string }>({
  name: 'orders',
  columns: { id: { type: 'text', primary: true } },
})
const orderTable = pgTable('orders', { id: text().primaryKey() })
const OrderOfMikro = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.text().primary() },
})

describe('a Nest application on PostgreSQL, with transactions of', () => {
  let database: PostgresDatabase
  let pool: Pool
  before(async () => {
    database = await postgresDatabase()
    pool = new Pool({ connectionString: database.url })
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  it('TypeORM, keeps the event of an order and drops that of a failed one', async () => {
    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      entities: [orderEntity],
    }).initialize()
    await check({
      ormToken: DataSource,
      orm: dataSource,
      transactions: typeormTransactions(dataSource),
      addOrder: (manager, id) => manager.insert(orderEntity, { id }),
      close: () => dataSource.destroy(),
    })
  })

  it('Prisma, keeps the event of an order and drops that of a failed one', async (test) => {
    const project = await PrismaProject.generate('postgresql')
    test.after(project.remove)
    const { PrismaClient } = await project.client()
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
    await check<any>({
      ormToken: PrismaClient,
      orm: prisma,
      transactions: prismaTransactions<any, object>(prisma) as never,
      addOrder: (tx, id) => tx.order.create({ data: { id } }),
      close: () => prisma.$disconnect(),
    })
  })

  it('Drizzle, keeps the event of an order and drops that of a failed one', async () => {
    const db: NodePgDatabase = drizzle(pool)
    await check({
      ormToken: 'DRIZZLE',
      orm: db,
      transactions: drizzleTransactions(db),
      addOrder: (tx, id) => tx.insert(orderTable).values({ id }),
      close: () => {},
    })
  })

  it('MikroORM, keeps the event of an order and drops that of a failed one', async () => {
    const orm = await MikroORM.init({ clientUrl: database.url, entities: [OrderOfMikro] })
    await check({
      ormToken: MikroORM,
      orm,
      transactions: mikroOrmTransactions(orm.em),
      addOrder: (em, id) => em.insert(OrderOfMikro, { id }),
      close: () => orm.close(),
    })
  })

  it('Kysely, keeps the event of an order and drops that of a failed one', async () => {
    const kyselyPool = new Pool({ connectionString: database.url })
    const db = new Kysely<{ orders: { id: string } }>({
      dialect: new PostgresDialect({ pool: kyselyPool }),
    })
    await check({
      ormToken: Kysely,
      orm: db,
      transactions: kyselyTransactions(db),
      addOrder: (tx, id) => tx.insertInto('orders').values({ id }).execute(),
      close: () => db.destroy(),
    })
  })

  it('@nestjs-cls/transactional on TypeORM, whatever @Transactional() asks for', async (test) => {
    const delivered: string[] = []
    type Adapter = TransactionalAdapter<Outbox<EntityManager>, EntityManager, object>

    @Injectable()
    class Audit {
      readonly #events: EventWriter<EntityManager>
      readonly #host: TransactionHost<Adapter>

      constructor(@InjectOutbox() events: EventWriter<EntityManager>, host: TransactionHost<Adapter>) {
        this.#events = events
        this.#host = host
      }

      @Transactional()
      async place(id: string) {
        await this.#host.tx.insert(orderEntity, { id })
        await this.#events.write(OrderPlaced, { orderId: id, total: 1 })
      }

      @Transactional()
      async placeTwo(id: string, propagation: Propagation) {
        await this.place(`${id}-a`)
        await this.#host
          .withTransaction(propagation, () => this.fail(`${id}-b`))
          .catch((error: Error) => {
            if (error.message !== 'no') throw error
          })
      }

      async fail(id: string) {
        await this.place(id)
        throw new Error('no')
      }

      get manager() {
        return this.#host.tx
      }

      @OutboxListener(OrderPlaced)
      deliver(event: EventEnvelope<{ orderId: string }>) {
        delivered.push(event.payload.orderId)
      }
    }

    const dataSource = await new DataSource({
      type: 'postgres',
      url: database.url,
      entities: [orderEntity],
    }).initialize()
    await recreateOrders()

    @Module({
      providers: [{ provide: DataSource, useValue: dataSource }],
      exports: [DataSource],
    })
    class DatabaseModule {}

    @Module({
      imports: [
        OutboxModule.forRootAsync({
          imports: [DatabaseModule],
          inject: [DataSource],
          useFactory: (source: DataSource) => ({
            mode: 'MULTI_NODE',
            store: postgresStore({ client: pool, table: 'outbox_cls' }),
            transactions: typeormTransactions(source),
          }),
        }),
        ClsModule.forRoot({
          plugins: [
            new ClsPluginTransactional({
              imports: [DatabaseModule],
              adapter: new OutboxTransactionalAdapter<EntityManager, object>({
                fallback: DataSource,
                fallbackTx: ({ manager }: DataSource) => manager,
              }),
            }),
          ],
        }),
      ],
      providers: [Audit],
    })
    class Shop {}

    const application = await NestFactory.createApplicationContext(Shop, { logger: false })
    test.after(async () => {
      await application.close()
      await dataSource.destroy()
    })
    const audit = application.get(Audit)
    await audit.place('o-1')
    await rejects(audit.place('o-1'), /duplicate key/)
    await audit.placeTwo('o-2', Propagation.Nested)
    await rejects(audit.placeTwo('o-3', Propagation.RequiresNew), { code: 'OUTBOX_INSIDE_TRANSACTION' })
    equal(audit.manager, dataSource.manager)
    await application.get<Outbox<EntityManager>>(getOutboxToken()).drain()
    deepEqual(delivered.sort(), ['o-1', 'o-2-a'])
    deepEqual(await orders(), ['o-1', 'o-2-a'])
  })

  interface Subject<Tx> {
    readonly ormToken: string | Type | (abstract new (...args: never[]) => unknown)
    readonly orm: object
    readonly transactions: Transactions<Tx, SqlTx, any>
    readonly addOrder: (tx: Tx, id: string) => PromiseLike<unknown>
    readonly close: () => unknown
  }

  /** Starts an application with this ORM, places orders by HTTP, and looks at what is left. */
  async function check<Tx>({ ormToken, orm, transactions, addOrder, close }: Subject<Tx>): Promise<void> {
    const delivered: string[] = []
    await recreateOrders()

    @Injectable()
    class Orders implements OrderService {
      readonly #events: EventWriter<Tx>

      constructor(@InjectOutbox() events: EventWriter<Tx>) {
        this.#events = events
      }

      async place(id: string) {
        await this.#events.transaction(async (tx) => {
          await this.#events.write(OrderPlaced, { orderId: id, total: 1 })
          await addOrder(tx, id)
        })
      }

      @OutboxListener(OrderPlaced)
      deliver(event: EventEnvelope<{ orderId: string }>) {
        delivered.push(event.payload.orderId)
      }
    }

    @Controller('orders')
    class OrderController {
      readonly #orders: OrderService

      constructor(@Inject(Orders) orders: OrderService) {
        this.#orders = orders
      }

      @Post(':id')
      place(@Param('id') id: string) {
        return this.#orders.place(id)
      }
    }

    @Module({
      providers: [{ provide: ormToken as string, useValue: orm }],
      exports: [ormToken as string],
    })
    class DatabaseModule implements OnApplicationShutdown {
      async onApplicationShutdown() {
        await close()
      }
    }

    @Module({
      imports: [
        OutboxModule.forRootAsync<never, Tx, any>({
          imports: [DatabaseModule],
          inject: [ormToken as string],
          useFactory: (injected: object) => {
            equal(injected, orm)
            return {
              mode: 'MULTI_NODE',
              store: postgresStore({ client: pool }) as never,
              transactions,
            }
          },
        }),
      ],
      controllers: [OrderController],
      providers: [Orders],
    })
    class Shop {}

    const application = await NestFactory.create(Shop, { logger: false })
    try {
      await application.listen(0, '127.0.0.1')
      const url = await application.getUrl()
      const place = async (id: string) => (await fetch(`${url}/orders/${id}`, { method: 'POST' })).status
      deepEqual([await place('o-1'), await place('o-1'), await place('o-2')], [201, 500, 201])
      await application.get<Outbox<Tx>>(getOutboxToken()).drain()
      deepEqual(delivered.sort(), ['o-1', 'o-2'])
      deepEqual(await orders(), ['o-1', 'o-2'])
      const rows = await database.query('select status from outbox_event')
      deepEqual(rows, [{ status: 1 }, { status: 1 }])
    } finally {
      await application.close()
    }
  }

  async function recreateOrders(): Promise<void> {
    await database.query('drop table if exists orders')
    await database.query('create table orders (id text primary key, total integer not null default 0)')
    await database.query('delete from outbox_event').catch(() => {})
  }

  async function orders(): Promise<unknown[]> {
    return (await database.query('select id from orders order by id')).map(({ id }) => id as unknown)
  }
})

describe('a Nest application on SQLite', () => {
  it('writes in the transactions of the outbox', async (test) => {
    const database = new DatabaseSync(':memory:')
    database.exec('create table orders (id text primary key)')
    const delivered: string[] = []

    @Injectable()
    class Orders {
      readonly #events: EventWriter<DatabaseSync>

      constructor(@InjectOutbox() events: EventWriter<DatabaseSync>) {
        this.#events = events
      }

      place(id: string) {
        return this.#events.transaction(async (tx) => {
          await this.#events.write(OrderPlaced, { orderId: id, total: 1 })
          tx.prepare('insert into orders values (?)').run(id)
        })
      }

      @OutboxListener(OrderPlaced)
      deliver(event: EventEnvelope<{ orderId: string }>) {
        delivered.push(event.payload.orderId)
      }
    }

    @Module({
      imports: [OutboxModule.forRoot({ store: sqliteStore({ open: () => database }) })],
      providers: [Orders],
    })
    class Shop {}

    const application = await NestFactory.createApplicationContext(Shop, { logger: false })
    test.after(() => application.close())
    await application.get(Orders).place('o-1')
    await rejects(application.get(Orders).place('o-1'), (error: Error) => {
      match(error.message, /UNIQUE constraint failed/)
      return true
    })
    await application.get<Outbox<DatabaseSync>>(getOutboxToken()).drain()
    deepEqual(delivered, ['o-1'])
  })
})
