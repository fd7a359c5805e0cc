/**
 * An application that publishes its events to a Redis stream, consumes that stream with an inbox, and sends a
 * mail for each message. It closes itself when the mails are there; nothing else ends its process.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Redis } from 'ioredis'
import { createTransport } from 'nodemailer'
import { ListenerRegistry, type Outbox } from 'sendoff'
import { redisStreamsConsumer } from 'sendoff/consumers/redis-streams'
import { Inbox } from 'sendoff/inbox'
import { MailOutbox, MailOutboxWorker, nodemailerTransport } from 'sendoff/mail'
import { redisStreamsPublisher } from 'sendoff/redis-streams'
import { sqliteStore } from 'sendoff/sqlite'
import { getOutboxToken, OutboxModule, OutboxWorkerModule } from '@sendoff/nestjs'

const [, , redisUrl, smtpUrl, stream, file] = process.argv
const events = 20
let handled = 0

/** Owns the clients. Listeners, consumer and mail worker have closed when it is asked to shut down. */
@Injectable()
class Clients implements OnApplicationShutdown {
  readonly redis = new Redis(redisUrl!)
  readonly smtp = createTransport({ url: smtpUrl!, pool: true })

  async onApplicationShutdown() {
    this.smtp.close()
    await this.redis.quit()
    process.stdout.write(`handled ${handled}\n`)
  }
}

@Module({ providers: [Clients], exports: [Clients] })
class ClientsModule {}

@Injectable()
class Mails extends MailOutbox<DatabaseSync> {
  constructor() {
    super({
      store: sqliteStore({ open: () => new DatabaseSync(`${file}.mails`) }),
      logger: false,
    })
  }
}

@Module({ providers: [Mails], exports: [Mails] })
class MailsModule {}

@Module({
  imports: [
    OutboxModule.forRootAsync({
      imports: [ClientsModule],
      inject: [Clients],
      useFactory: ({ redis }: Clients) => ({
        store: sqliteStore({ open: () => new DatabaseSync(file!) }),
        listeners: new ListenerRegistry().register(
          'OrderPlaced',
          redisStreamsPublisher({ client: redis, stream: stream! }),
        ),
        logger: false,
      }),
    }),
    OutboxWorkerModule.register({
      provide: 'ORDERS_CONSUMER',
      imports: [ClientsModule, MailsModule],
      inject: [getOutboxToken(), Clients, Mails],
      useFactory: (outbox: Outbox<DatabaseSync>, { redis }: Clients, mails: Mails) =>
        redisStreamsConsumer({
          client: redis,
          stream: stream!,
          inbox: new Inbox({ outbox, consumer: 'mailing' }),
          handler: async () => {
            await mails.transaction(() =>
              mails.enqueue({ from: 'shop@example.com', to: 'ann@example.com', subject: 'Yours', text: '…' }),
            )
            handled++
          },
          logger: false,
        }),
    }),
    OutboxWorkerModule.register({
      provide: MailOutboxWorker,
      imports: [ClientsModule, MailsModule],
      inject: [Mails, Clients],
      useFactory: (outbox: Mails, { smtp }: Clients) =>
        new MailOutboxWorker({
          outbox,
          transports: { default: nodemailerTransport({ transporter: smtp }) },
          logger: false,
        }),
    }),
  ],
})
class Shop {}

const application = await NestFactory.createApplicationContext(Shop, { logger: false })
const outbox: Outbox<DatabaseSync> = application.get(getOutboxToken())
await outbox.transaction(async () => {
  for (let order = 0; order < events; order++) await outbox.write('OrderPlaced', { order })
})
while (handled < events) await wait(5)
await application.get<MailOutboxWorker<DatabaseSync>>(MailOutboxWorker).drain()
await application.close()
