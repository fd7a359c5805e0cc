import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { ProxiedConnection } from './proxied-connection.ts'

/** Listens on a free port of the loopback address and forwards to the host and port of `targetUrl`. */
export async function faultProxy(targetUrl: string): Promise<FaultProxy> {
  const target = new URL(targetUrl)
  if (target.port === '') throw new Error(`${targetUrl} names no port. Add the one the server listens on.`)

  const listener = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return new FaultProxy(listener, target)
}

/**
 * Stands between clients and a server, and does to their connections what networks do. Without harm it
 * forwards everything, including the end of a connection.
 */
export class FaultProxy {
  /** The target's address, but through this proxy. */
  readonly url: string
  readonly #listener: Server
  #target: URL
  readonly #connections = new Set<ProxiedConnection>()
  #isSilent = false
  #trap: AnswerTrap | undefined

  constructor(listener: Server, target: URL) {
    this.#listener = listener
    this.#target = target
    this.url = addressOf(listener, target)
    listener.on('connection', (client) => this.#accept(client))
  }

  /** Resets all connections, on both sides. New ones are accepted. */
  cut(): void {
    for (const connection of this.#connections) connection.cut()
  }

  /**
   * From now on nothing gets through, without an error on either side. Connections stay up and new ones are
   * accepted, but all data on them is lost, their end included.
   */
  halfOpen(): void {
    this.#isSilent = true
    for (const connection of this.#connections) connection.silence()
  }

  /** Loses all data on the open connections, for good and without an error. New connections are forwarded. */
  blackHole(): void {
    for (const connection of this.#connections) connection.silenceForGood()
  }

  /**
   * Forwards again. Connections that lost data meanwhile stay silent until they are cut: TCP never delivers a
   * stream with a hole in it.
   */
  resume(): void {
    this.#isSilent = false
    for (const connection of this.#connections) connection.resume()
  }

  /**
   * Loses the reply to the next `request` of any client, in upper or lower case. The server gets the request,
   * and the connection is reset as soon as the server has sent `answer`. Without `answer`, any reply counts;
   * name one if replies to earlier requests may still be under way.
   *
   * Resolves when it has happened. A later call replaces one that still waits.
   */
  loseNextAnswerTo(request: string, answer = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { request, spring: (connection) => connection.loseAnswer(answer, resolve) }
    })
  }

  /**
   * Holds back the reply to the next `request` of any client, and everything after it on the same connection,
   * for `forMs`. The server has handled the request by then.
   *
   * Resolves when it has happened. A later call, or one that loses a reply, replaces one that still waits.
   */
  holdNextAnswerTo(request: string, forMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = {
        request,
        spring: (connection) => void connection.holdAnswers(forMs).then(resolve),
      }
    })
  }

  /** Resets all connections, and forwards new ones to another server, as an address does after a failover. */
  redirect(targetUrl: string): void {
    this.#target = new URL(targetUrl)
    this.cut()
  }

  /** Resets all connections and stops listening. */
  async close(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    this.cut()
    await closed
  }

  #accept(client: Socket): void {
    const server = this.#isSilent ? undefined : this.#connectToTarget()
    const connection = new ProxiedConnection(client, server)
    this.#connections.add(connection)
    connection.onEnd = () => this.#connections.delete(connection)
    connection.onRequest = (sent) => {
      if (!this.#trap || !sent.hasNow(this.#trap.request)) return
      this.#trap.spring(connection)
      this.#trap = undefined
    }
  }

  #connectToTarget(): Socket {
    const { hostname, port } = this.#target
    return connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true })
  }
}

interface AnswerTrap {
  readonly request: string
  /** Harms the connection of the request. */
  readonly spring: (connection: ProxiedConnection) => void
}

function addressOf(listener: Server, target: URL): string {
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return url.href
}
