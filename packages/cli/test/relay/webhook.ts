import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A receiver of webhooks that counts how often each event came. */
export class Webhook {
  readonly url: string
  readonly arrivals = new Map<string, number>()
  readonly #waiting = new Set<() => void>()

  static async listen(test: TestContext): Promise<Webhook> {
    const server = createServer((request, response) => {
      request.resume().once('end', () => {
        webhook.#take(String(request.headers['event-id']))
        response.writeHead(204).end()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    test.after(() => {
      server.close()
      server.closeAllConnections()
    })
    const webhook = new Webhook((server.address() as AddressInfo).port)
    return webhook
  }

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}/events`
  }

  /** Resolves when this number of different events has come. */
  async until(count: number): Promise<void> {
    while (this.arrivals.size < count) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  #take(id: string): void {
    this.arrivals.set(id, (this.arrivals.get(id) ?? 0) + 1)
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const look of waiting) look()
  }
}
