/**
 * A release of a shop on PostgreSQL with TypeORM, which places orders as fast as it can until a signal ends
 * it. It undoes every fifth order. It prints a line for every tenth order that it has placed.
 */
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { NestFactory } from '@nestjs/core'
import { Pool } from 'pg'
import type { EventEnvelope, EventWriter } from 'sendoff'
import { postgresStore } from 'sendoff/postgres'
import { typeormTransactions } from 'sendoff/transactions/typeorm'
import { DataSource, type EntityManager } from 'typeorm'
import { InjectOutbox, OutboxListener, OutboxModule } from '@sendoff/nestjs'
import { OrderPlaced } from './order-events.ts'

const [, , url, release] = process.argv as [string, string, string, string]

@Injectable()
class Orders implements BeforeApplicationShutdown {
  readonly #events: EventWriter<EntityManager>
  #isOpen = true
  #placing: Promise<unknown> | undefined

  constructor(@InjectOutbox() events: EventWriter<EntityManager>) {
    this.#events = events
  }

  open() {
    this.#placing = Promise.all([this.#placeMany('a'), this.#placeMany('b')])
  }

  async beforeApplicationShutdown() {
    this.#isOpen = false
    await this.#placing
  }

  async #placeMany(name: string) {
    for (let number = 1; this.#isOpen; number++) {
      await this.#place(`${release}-${name}-${number}`, number % 5 === 0).catch((error: Error) => {
        if (error.message !== 'undone') throw error
      })
      if (number % 10 === 0) process.stdout.write(`placed ${number}\n`)
    }
  }

  #place(orderId: string, isUndone: boolean) {
    return this.#events.transaction(async (manager) => {
      await this.#events.write(OrderPlaced, { orderId, total: 1 })
      await manager.query('insert into orders values ($1)', [orderId])
      if (isUndone) throw new Error('undone')
    })
  }
}

@Injectable()
class Shipping {
  readonly #dataSource: DataSource

  constructor(@Inject(DataSource) dataSource: DataSource) {
    this.#dataSource = dataSource
  }

  @OutboxListener(OrderPlaced)
  async ship(event: EventEnvelope<{ orderId: string }>) {
    await this.#dataSource.query('insert into shipments values ($1, $2)', [event.payload.orderId, release])
  }
}

@Module({
  providers: [
    { provide: DataSource, useFactory: () => new DataSource({ type: 'postgres', url }).initialize() },
    { provide: Pool, useFactory: () => new Pool({ connectionString: url }) },
  ],
  exports: [DataSource, Pool],
})
class DatabaseModule implements OnApplicationShutdown {
  readonly #dataSource: DataSource
  readonly #pool: Pool

  constructor(@Inject(DataSource) dataSource: DataSource, @Inject(Pool) pool: Pool) {
    this.#dataSource = dataSource
    this.#pool = pool
  }

  async onApplicationShutdown() {
    await this.#dataSource.destroy()
    await this.#pool.end()
  }
}

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true }),
    DatabaseModule,
    OutboxModule.forRootAsync({
      imports: [DatabaseModule],
      inject: [ConfigService, DataSource, Pool],
      useFactory: (config: ConfigService, dataSource: DataSource, pool: Pool) => ({
        config,
        store: postgresStore({ client: pool }),
        transactions: typeormTransactions(dataSource),
      }),
    }),
  ],
  providers: [Orders, Shipping],
})
class Shop {}

const application = await NestFactory.createApplicationContext(Shop, { logger: ['error', 'warn'] })
application.enableShutdownHooks()
application.get(Orders).open()
