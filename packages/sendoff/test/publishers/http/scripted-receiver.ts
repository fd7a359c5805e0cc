import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Handles a request, given its number, and its number on its connection, both from 1 on. */
export type RequestScript = (socket: Socket, request: number, ofConnection: number) => void

/** A server that handles each request by a script. */
export class ScriptedReceiver {
  requests = 0
  /** How often each event came, by its id. */
  readonly requestsById = new Map<string, number>()
  readonly #server = createServer((socket) => this.#serve(socket))
  readonly #sockets = new Set<Socket>()
  readonly #script: RequestScript
  readonly #readsBytes: number

  /** `readsBytes` is how many bytes of a body it waits for. */
  constructor(script: RequestScript, readsBytes = Infinity) {
    this.#script = script
    this.#readsBytes = readsBytes
  }

  static async start(script: RequestScript, readsBytes?: number): Promise<ScriptedReceiver> {
    const receiver = new ScriptedReceiver(script, readsBytes)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  #serve(socket: Socket): void {
    let ofConnection = 0
    let received = ''
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const [head, body] = received.split('\r\n\r\n', 2)
      const length = Number(/content-length: (\d+)/.exec(head!)?.[1])
      if (body === undefined || body.length < Math.min(length, this.#readsBytes)) return
      received = ''
      ofConnection += 1
      this.requests += 1
      const id = /event-id: (\S+)/.exec(head!)?.[1] ?? ''
      this.requestsById.set(id, (this.requestsById.get(id) ?? 0) + 1)
      this.#script(socket, this.requests, ofConnection)
    })
  }
}

export const noContent = 'HTTP/1.1 204 OK\r\n\r\n'
