import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { nodeListener } from '@sendoff/dashboard'
import { type DefinedEvent, fixedDelay, ListenerRegistry, Outbox } from 'sendoff'
import { webhookReceiver } from 'sendoff/consumers/webhooks'
import { httpPublisher } from 'sendoff/http'
import { Inbox } from 'sendoff/inbox'
import { sqliteStore } from 'sendoff/sqlite'
import type { OrderMessage } from './messages.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export interface ServiceOptions {
  readonly folder: string
  readonly name: string
  /** SQL of the tables of its business data. */
  readonly tables: string
  /** The events that it sends to the other service. */
  readonly sends: readonly DefinedEvent<OrderMessage, OrderMessage>[]
  /** Gives a message its effects, in the transaction that marks it as processed. */
  readonly receive: (type: string, order: OrderMessage, tx: DatabaseSync) => Promise<void>
}

/**
 * A service with a database, an outbox for what it sends and an inbox for what it gets. It sends by HTTP, and
 * its network is bad: every third response is lost after the message was processed, so that it comes again.
 */
export class Service {
  readonly outbox: Outbox<DatabaseSync>
  readonly url: string
  /** How many messages came, those that came again included. */
  received = 0
  /** The address of the other service. */
  peer = ''
  readonly #file: string
  readonly #close: () => Promise<void>

  static async start(options: ServiceOptions): Promise<Service> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Service(options, server).#started()
  }

  private constructor(options: ServiceOptions, server: ReturnType<typeof createServer>) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/messages`
    this.#file = join(options.folder, `${options.name}.db`)
    new DatabaseSync(this.#file).exec(options.tables)
    // The other service is on this machine.
    const publisher = httpPublisher({ url: () => this.peer, secret, allowPrivateAddresses: true })
    this.outbox = Outbox.multiNode({
      store: sqliteStore({ open: () => new DatabaseSync(this.#file) }),
      listeners: new ListenerRegistry().register(options.sends, publisher),
      retryPolicy: fixedDelay(20),
      logger: false,
    })
    const receive = webhookReceiver({
      secrets: [secret],
      inbox: new Inbox({ outbox: this.outbox, consumer: options.name }),
      handler: ({ type = '', payload }, tx) => options.receive(type, payload as OrderMessage, tx),
    })
    const onRequest = async (request: Request): Promise<Response> => {
      const response = await receive(request)
      this.received += 1
      return this.received % 3 === 0 ? new Response('The response is lost.', { status: 502 }) : response
    }
    server.on('request', nodeListener(onRequest))
    this.#close = async () => {
      await this.outbox.close()
      await receive.close()
      server.close()
      server.closeAllConnections()
    }
  }

  /** Returns the first column of the first row. */
  figure(sql: string): number {
    const [value] = Object.values(new DatabaseSync(this.#file).prepare(sql).get() ?? {})
    return Number(value)
  }

  close(): Promise<void> {
    return this.#close()
  }

  async #started(): Promise<Service> {
    await this.outbox.start()
    return this
  }
}
