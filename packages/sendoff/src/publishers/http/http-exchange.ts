import {
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { HttpConnectionError } from './http-errors.ts'

/** A request to a receiver. */
export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** The response of a receiver, with the beginning of the body. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Options of `exchange`. */
export interface ExchangeOptions {
  /** `false` opens a connection for this request alone. */
  readonly agent: Agent | false
  /** Resolves the host's name; as Node does by default. */
  readonly lookup?: LookupFunction
  readonly stop: AbortSignal
}

/** The receiver closed a kept-alive connection at the moment of its use. The request may be sent again. */
export class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError'
}

/**
 * Sends one request and resolves with its response, whatever the status. Once the status has come, no fault
 * of the body makes the exchange fail.
 */
export function exchange(request: HttpRequest, options: ExchangeOptions): Promise<HttpAnswer> {
  const { url, method, headers, body } = request
  const { stop, ...connection } = options
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest

  return new Promise((resolve, reject) => {
    const sent = send(url, {
      method,
      headers: { ...headers, 'content-length': body.byteLength },
      signal: stop,
      ...connection,
    })
    const connectionUse = new ConnectionUse(sent, url)
    let isAnswered = false
    const fail = (error: Error): void => {
      if (!isAnswered) reject(connectionUse.failure(error, stop))
    }
    // These handlers stay attached, because a connection can also fail after its response.
    sent.on('error', fail)
    sent.on('close', () => fail(new Error('The connection was closed without an answer.')))
    sent.on('response', (response) => {
      isAnswered = true
      void readBeginning(response).then((text) => {
        // A receiver that replies without reading the request would keep the connection for ever.
        if (!sent.writableFinished) sent.destroy()
        resolve({ status: response.statusCode!, headers: response.headers, text })
      })
    })
    sent.end(body)
  })
}

/** How far a request got on its connection. */
class ConnectionUse {
  readonly #sent: ClientRequest
  readonly #url: URL
  #socket: Socket | undefined
  #isConnected = false
  #bytesReadBefore = 0

  constructor(sent: ClientRequest, url: URL) {
    this.#sent = sent
    this.#url = url
    sent.on('socket', (socket) => this.#begin(socket))
  }

  /** Returns what the end of the connection, before a response, means for the request. */
  failure(cause: Error, stop: AbortSignal): Error {
    if (cause instanceof HttpConnectionError) return cause
    if (stop.aborted) return this.#stopped(stop.reason as Error)
    const { origin } = this.#url
    if (!this.#isConnected) {
      return new HttpConnectionError(`${origin} cannot be reached.`, 'unreachable', { cause })
    }
    const error = new HttpConnectionError(`${origin} broke off before its answer.`, 'broken', { cause })
    return this.#isStale(cause) ? new StaleConnectionError(error.message, { cause: error }) : error
  }

  #begin(socket: Socket): void {
    this.#socket = socket
    this.#bytesReadBefore = socket.bytesRead
    this.#isConnected = this.#sent.reusedSocket
    // Before TLS is agreed on, nothing of the request has been sent.
    const connected = this.#url.protocol === 'https:' ? 'secureConnect' : 'connect'
    if (!this.#isConnected) socket.once(connected, () => (this.#isConnected = true))
  }

  #stopped(reason: Error): Error {
    const isTimeUp = reason instanceof HttpConnectionError
    if (!isTimeUp || this.#isConnected) return reason
    return new HttpConnectionError(`${this.#url.origin} cannot be reached in time.`, 'unreachable')
  }

  #isStale({ code }: NodeJS.ErrnoException): boolean {
    const hasBegunAnswer = this.#socket !== undefined && this.#socket.bytesRead > this.#bytesReadBefore
    return this.#sent.reusedSocket && !hasBegunAnswer && (code === 'ECONNRESET' || code === 'EPIPE')
  }
}

const keptCharacters = 300
/**
 * Most bytes of a body that are read in order to reuse the connection. After a longer body, the next request
 * opens a new one.
 */
const readBytes = 65_536

/** Returns the beginning of a body. Resolves at its end, or when the connection breaks. */
function readBeginning(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    let length = 0
    const end = (): void => resolve(text.replaceAll(/\s+/g, ' ').trim().slice(0, keptCharacters))
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      length += chunk.length
      if (text.length < 4 * keptCharacters) text += chunk
      if (length > readBytes) response.destroy()
    })
    response.on('end', end).on('error', end).on('close', end)
  })
}
