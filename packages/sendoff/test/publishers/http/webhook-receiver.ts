import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly bytes: Uint8Array
}

export type RespondTo = (request: ReceivedRequest, response: ServerResponse) => void

/** A server that keeps the posted requests. It can be brought down, and come back at its address. */
export class WebhookReceiver {
  readonly received: ReceivedRequest[] = []
  respond: RespondTo = (_request, response) => void response.writeHead(204).end()
  #server = createServer()
  #port = 0
  #frozen: (() => void)[] | undefined

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    await receiver.start()
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#handle(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async kill(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  freeze(): void {
    this.#frozen = []
  }

  resume(): void {
    const waiting = this.#frozen ?? []
    this.#frozen = undefined
    for (const goOn of waiting) goOn()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#frozen !== undefined) await new Promise<void>((resolve) => this.#frozen!.push(resolve))
    request.setEncoding('latin1')
    const bytes = Buffer.from(await text(request).catch(() => ''), 'latin1')
    if (request.destroyed && !request.complete) return

    const received = {
      method: request.method!,
      path: request.url!,
      headers: request.headers as Record<string, string>,
      body: bytes.toString(),
      bytes,
    }
    this.received.push(received)
    this.respond(received, response)
  }
}
