import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A message of Debezium's router, as `OutboxRelay` posts it. */
export interface RoutedMessage {
  readonly topic: string
  readonly key: string | null
  /** In milliseconds. */
  readonly timestamp: number
  /** `id` is the id of the event. The others are columns of its row, as `outbox.properties` names them. */
  readonly headers: Readonly<Record<string, string | null>> & { readonly id: string }
  /** The payload as text: JSON. */
  readonly value?: string | null
  /** The payload in base64, if the router reads bytes. */
  readonly base64?: string
}

/** Receives batches of messages, and confirms a batch when `handle` has processed all of it. */
export class MessageReceiver {
  readonly url: string
  readonly #server: Server

  static async start(handle: (message: RoutedMessage) => Promise<unknown>): Promise<MessageReceiver> {
    const server = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1')
    const receive = async (request: IncomingMessage, response: ServerResponse) => {
      try {
        const chunks: Uint8Array[] = []
        for await (const chunk of request) chunks.push(chunk as Uint8Array)
        const messages = JSON.parse(Buffer.concat(chunks).toString()) as readonly RoutedMessage[]
        // One after another: messages of one key are in the order of their commits.
        for (const message of messages) await handle(message)
        response.writeHead(204).end()
      } catch {
        // Without a confirmation, the relay sends the batch again.
        response.writeHead(503).end()
      }
    }
    await once(server, 'listening')
    return new MessageReceiver(server)
  }

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
