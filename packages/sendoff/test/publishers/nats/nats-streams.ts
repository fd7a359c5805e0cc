import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { StoredMessage } from '../../../src/testing/publisher-check.ts'

/** Streams of a test: each stores the subject of its own name. */
export class NatsStreams {
  readonly jetstream: JetStreamClient
  readonly manager: JetStreamManager
  readonly #url: string
  readonly #connection: NatsConnection

  static async open(url: string): Promise<NatsStreams> {
    const connection = await connect({
      servers: url,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      reconnectJitter: 0,
    })
    return new NatsStreams(url, connection, await jetstreamManager(connection))
  }

  private constructor(url: string, connection: NatsConnection, manager: JetStreamManager) {
    this.#url = url
    this.#connection = connection
    this.manager = manager
    this.jetstream = jetstream(connection)
  }

  async make(name: string): Promise<string> {
    await this.manager.streams.add({ name, subjects: [name] })
    return name
  }

  /** Reads over a connection of its own, because the client may still be reconnecting. */
  async stored(name: string): Promise<readonly StoredMessage[]> {
    const connection = await connect({ servers: this.#url })
    try {
      const { streams } = await jetstreamManager(connection)
      const { state } = await streams.info(name)
      const messages: StoredMessage[] = []
      for (let seq = 1; seq <= state.last_seq; seq++) {
        const message = await streams.getMessage(name, { seq })
        const headers = Object.fromEntries(
          message!.header.keys().map((key) => [key, message!.header.get(key)]),
        )
        messages.push({ body: message!.data, contentType: headers['content-type'], headers })
      }
      return messages
    } finally {
      await connection.close()
    }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}
