/**
 * An application with a server, a database and 20 events. It closes itself, or ends by a signal; nothing else
 * ends its process.
 */
import { DatabaseSync } from 'node:sqlite'
import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Outbox } from 'sendoff'
import { sqliteStore } from 'sendoff/sqlite'
import { getOutboxToken, OutboxListener, OutboxModule } from '@sendoff/nestjs'

let delivered = 0

@Injectable()
class Shipping implements OnApplicationShutdown {
  @OutboxListener('OrderPlaced')
  async book() {
    await new Promise((resolve) => setTimeout(resolve, 5))
    delivered += 1
  }

  onApplicationShutdown() {
    process.stdout.write(`delivered ${delivered}\n`)
  }
}

@Module({
  imports: [
    OutboxModule.forRoot({ store: sqliteStore({ open: () => new DatabaseSync(':memory:') }), purge: true }),
  ],
  providers: [Shipping],
})
class Shop {}

const application = await NestFactory.create(Shop, { logger: false })
application.enableShutdownHooks()
await application.listen(0, '127.0.0.1')
const outbox: Outbox<DatabaseSync> = application.get(getOutboxToken())
await outbox.transaction(async () => {
  for (let order = 0; order < 20; order++) await outbox.write('OrderPlaced', { order })
})
process.stdout.write('started\n')
if (process.argv[2] === 'close') await application.close()
