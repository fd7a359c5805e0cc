import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { StreamSearch } from './stream-search.ts'

/**
 * The two halves of a connection through a proxy: one to the client, one to the server. Without the latter it
 * never got through, and stays silent.
 */
export class ProxiedConnection {
  /** Called with the client's data so far, before the server gets the last of it. */
  onRequest: (sent: StreamSearch) => void = () => {}
  /** Called when both halves are closed. */
  onEnd: () => void = () => {}
  readonly #client: Socket
  readonly #server: Socket | undefined
  readonly #sent = new StreamSearch()
  #isSilent: boolean
  #hasLoss: boolean
  #awaited: AwaitedAnswer | undefined

  constructor(client: Socket, server: Socket | undefined) {
    this.#client = client
    this.#server = server
    this.#isSilent = this.#hasLoss = server === undefined

    for (const socket of this.#halves()) {
      socket.on('end', () => this.#pass(() => this.#otherThan(socket)?.end()))
      socket.on('error', () => this.#pass(() => this.cut()))
      socket.on('close', () => {
        if (this.#halves().every((half) => half.closed)) this.onEnd()
      })
    }
    client.on('data', (chunk: Buffer) => this.#pass(() => this.#passRequest(chunk)))
    server?.on('data', (chunk: Buffer) => this.#pass(() => this.#passAnswer(chunk, server)))
  }

  /**
   * Resets both halves. Node cannot reset a half that is about to end: it would stay, and keep the process
   * from ending.
   */
  cut(): void {
    for (const socket of this.#halves()) {
      if (socket.writableEnded) socket.destroy()
      else socket.resetAndDestroy()
    }
  }

  /** Loses all data, without an error on either side. */
  silence(): void {
    this.#isSilent = true
  }

  /** Loses all data from now on, for good. */
  silenceForGood(): void {
    this.#isSilent = this.#hasLoss = true
  }

  /** Ends the silence, unless data was lost in it. */
  resume(): void {
    this.#isSilent = this.#hasLoss
  }

  /** Keeps all replies from the client, and cuts the connection when one contains `answer`. */
  loseAnswer(answer: string, onLost: () => void): void {
    this.#awaited = { answer, received: new StreamSearch(), onLost }
  }

  /** Keeps all replies from the client for so long. None of them is lost. */
  async holdAnswers(forMs: number): Promise<void> {
    this.#server?.pause()
    await delay(forMs)
    this.#server?.resume()
  }

  #pass(effect: () => void): void {
    if (this.#isSilent) this.#hasLoss = true
    else effect()
  }

  #passRequest(chunk: Buffer): void {
    this.#sent.add(chunk)
    this.onRequest(this.#sent)
    forward(chunk, this.#client, this.#server!)
  }

  #passAnswer(chunk: Buffer, server: Socket): void {
    if (!this.#awaited) return forward(chunk, server, this.#client)

    const { answer, received, onLost } = this.#awaited
    received.add(chunk)
    if (!received.hasNow(answer)) return
    this.cut()
    onLost()
  }

  #halves(): readonly Socket[] {
    return this.#server ? [this.#client, this.#server] : [this.#client]
  }

  #otherThan(socket: Socket): Socket | undefined {
    return this.#halves().find((half) => half !== socket)
  }
}

interface AwaitedAnswer {
  readonly answer: string
  readonly received: StreamSearch
  readonly onLost: () => void
}

// A slow reader slows the sender, as without a proxy.
function forward(chunk: Buffer, from: Socket, to: Socket): void {
  if (to.write(chunk)) return
  from.pause()
  to.once('drain', () => from.resume())
}
