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
 * Stands between clients and a server and does to their connections what networks do. Until told to
 * do harm it passes everything on, the end of a connection included.
 */
export class FaultProxy {
  /** The target's address, but by way of this proxy. */
  readonly url: string
  readonly #listener: Server
  readonly #target: URL
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
   * From now on nothing gets through, and nobody is told. Connections stay up and new ones are
   * accepted, but what is sent over them is lost, their end included.
   */
  halfOpen(): void {
    this.#isSilent = true
    for (const connection of this.#connections) connection.silence()
  }

  /** Loses whatever comes over the connections that are up, for good and without a word. New ones are forwarded. */
  blackHole(): void {
    for (const connection of this.#connections) connection.silenceForGood()
  }

  /**
   * Forwards again. Connections that lost something meanwhile stay silent until they are cut: TCP
   * never delivers a stream with a hole in it.
   */
  resume(): void {
    this.#isSilent = false
    for (const connection of this.#connections) connection.resume()
  }

  /**
   * Loses the answer to the next `request` that any client sends, in upper or lower case: the server
   * gets the request, and as soon as it has said `answer` the connection is reset. Without `answer`
   * its first word will do; name one where answers to earlier requests may still be under way.
   * Resolves when it has happened. A later call replaces one that still waits.
   */
  loseNextAnswerTo(request: string, answer = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { request, spring: (connection) => connection.loseAnswer(answer, resolve) }
    })
  }

  /**
   * Holds back the answer to the next `request` that any client sends, and everything behind it on the same
   * connection, for so long: the server has carried the request out by then. Resolves when it has happened. A
   * later call, or one that loses an answer, replaces one that still waits.
   */
  holdNextAnswerTo(request: string, forMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = {
        request,
        spring: (connection) => void connection.holdAnswers(forMs).then(resolve),
      }
    })
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
  /** What is done to the connection that the request comes over. */
  readonly spring: (connection: ProxiedConnection) => void
}

function addressOf(listener: Server, target: URL): string {
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return url.href
}
