/**
 * A release of a shop: `node deployed-shop.ts ORM URL RELEASE`. It places orders as fast as it can until a signal
 * ends it, and undoes every fifth one. The new release writes an event that the old one does not know. A release
 * `idle` only delivers. Each prints a line for every tenth order, or once when it is ready.
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
import type { EventEnvelope, EventWriter } from 'sendoff'
import { InjectOutbox, OutboxListener, OutboxModule } from '@sendoff/nestjs'
import { type DeployedDatabase, type DeployedDatabaseName, deployedDatabases } from './deployed-databases.ts'
import { OrderPaid, OrderPlaced } from './order-events.ts'

const [, , orm, url, release] = process.argv as [string, string, DeployedDatabaseName, string, string]
const isOld = release.startsWith('old')
const databaseToken = 'DATABASE'

@Injectable()
class Orders implements BeforeApplicationShutdown {
  readonly #events: EventWriter<unknown>
  readonly #database: DeployedDatabase
  #isOpen = true
  #placing: Promise<unknown> | undefined

  constructor(
    @InjectOutbox() events: EventWriter<unknown>,
    @Inject(databaseToken) database: DeployedDatabase,
  ) {
    this.#events = events
    this.#database = database
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
    return this.#events.transaction(async (tx) => {
      await this.#events.write(OrderPlaced, { orderId, total: 1 })
      await this.#database.addOrder(tx, orderId)
      if (!isOld) await this.#events.write(OrderPaid, { orderId })
      if (isUndone) throw new Error('undone')
    })
  }
}

@Injectable()
class Shipping {
  readonly #database: DeployedDatabase

  constructor(@Inject(databaseToken) database: DeployedDatabase) {
    this.#database = database
  }

  @OutboxListener(OrderPlaced)
  async ship(event: EventEnvelope<{ orderId: string }>) {
    await this.#database.record('shipments', event.payload.orderId, release)
  }
}

@Injectable()
class Billing {
  readonly #database: DeployedDatabase

  constructor(@Inject(databaseToken) database: DeployedDatabase) {
    this.#database = database
  }

  @OutboxListener(OrderPaid)
  async receipt(event: EventEnvelope<{ orderId: string }>) {
    await this.#database.record('receipts', event.payload.orderId, release)
  }
}

@Module({
  providers: [{ provide: databaseToken, useFactory: () => deployedDatabases[orm](url) }],
  exports: [databaseToken],
})
class DatabaseModule implements OnApplicationShutdown {
  readonly #database: DeployedDatabase

  constructor(@Inject(databaseToken) database: DeployedDatabase) {
    this.#database = database
  }

  async onApplicationShutdown() {
    await this.#database.close()
  }
}

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true }),
    DatabaseModule,
    OutboxModule.forRootAsync<any>({
      imports: [DatabaseModule],
      inject: [ConfigService, databaseToken],
      useFactory: (config: ConfigService, { store, transactions }: DeployedDatabase) => ({
        config,
        store,
        ...(transactions !== undefined && { transactions }),
      }),
    }),
  ],
  providers: [Orders, Shipping, ...(isOld ? [] : [Billing])],
})
class Shop {}

const application = await NestFactory.createApplicationContext(Shop, { logger: ['error', 'warn'] })
application.enableShutdownHooks()
if (release === 'idle') process.stdout.write('ready\n')
else application.get(Orders).open()
