import { DatabaseSync } from 'node:sqlite'
import { Controller, Get, Module } from '@nestjs/common'
import { ConfigModule, ConfigService } from '@nestjs/config'
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus'
import { OutboxHealthIndicator, OutboxModule } from '@sendoff/nestjs'
import { sqliteStore } from 'sendoff/sqlite'
import { Orders, OrdersController } from './orders.ts'
import { Shipping } from './shipping.ts'

@Module({
  providers: [
    {
      provide: DatabaseSync,
      inject: [ConfigService],
      useFactory: (config: ConfigService) => {
        const database = new DatabaseSync(fileOf(config))
        database.exec(`
          create table if not exists orders (id text primary key, total real not null);
          create table if not exists shipments (id text primary key, carrier text not null)`)
        return database
      },
    },
  ],
  exports: [DatabaseSync],
})
class DatabaseModule {}

@Controller('health')
class HealthController {
  readonly #health: HealthCheckService
  readonly #outbox: OutboxHealthIndicator

  constructor(health: HealthCheckService, outbox: OutboxHealthIndicator) {
    this.#health = health
    this.#outbox = outbox
  }

  @Get()
  @HealthCheck()
  check() {
    return this.#health.check([() => this.#outbox.isHealthy('outbox')])
  }
}

/** The shop: orders by HTTP, an outbox beside them in the same database, and a listener that ships. */
@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true }),
    TerminusModule,
    DatabaseModule,
    OutboxModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        config,
        store: sqliteStore({ open: () => new DatabaseSync(fileOf(config)) }),
      }),
    }),
  ],
  controllers: [OrdersController, HealthController],
  providers: [Orders, Shipping],
})
export class ShopModule {}

function fileOf(config: ConfigService): string {
  return config.get<string>('SHOP_DATABASE') ?? 'shop.db'
}
