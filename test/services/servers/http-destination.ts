import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { stablePort } from '../machine/stable-port.ts'

/** A server that receives names: `POST url/name`. It can go away and come back. */
export class HttpDestination {
  readonly url: string
  readonly #port: number
  readonly #arrivals = new Set<string>()
  readonly #waiting = new Set<() => void>()
  #server: Server | undefined
  #isSilent = false

  static async start(): Promise<HttpDestination> {
    const destination = new HttpDestination(await stablePort())
    await destination.comeBack()
    return destination
  }

  private constructor(port: number) {
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
  }

  /** The names that have arrived and got a reply. */
  get arrivals(): ReadonlySet<string> {
    return this.#arrivals
  }

  async untilArrived(count: number): Promise<void> {
    while (this.#arrivals.size < count) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  /** From now on connections are refused. */
  async goAway(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  /** From now on connections are accepted, and no request gets a reply. */
  fallSilent(): void {
    this.#isSilent = true
  }

  async comeBack(): Promise<void> {
    this.#isSilent = false
    if (this.#server !== undefined) return this.#server.closeAllConnections()
    this.#server = createServer((request, response) => this.#take(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    if (this.#isSilent) return
    this.#arrivals.add(request.url!.slice(1))
    response.writeHead(204).end()
    this.#waiting.forEach((resolve) => resolve())
    this.#waiting.clear()
  }
}
