import { type Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { TLSSocket } from 'node:tls'

/** A request to post. */
export interface HttpPost {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly agent: Agent
  readonly signal: AbortSignal
}

/** The response of a server. */
export interface HttpAnswer {
  readonly status: number
  /** The beginning of the body: as much as came in time. */
  readonly text: string
  readonly retryAfterMs: number | undefined
}

/** Thrown when a server sends no response. */
export class NoHttpAnswer extends Error {
  override readonly name = 'NoHttpAnswer'
  /** Whether a connection was made: the server may then have received the request. */
  readonly wasConnected: boolean

  constructor(wasConnected: boolean, cause: unknown) {
    super('There was no answer.', { cause })
    this.wasConnected = wasConnected
  }
}

const maxBodyBytes = 65_536

/** Posts a request, and resolves with the response, whatever its status. Reads at most 64 KiB of it. */
export async function exchange(post: HttpPost): Promise<HttpAnswer> {
  const response = await responseTo(post)
  return {
    status: response.statusCode!,
    text: await beginningOf(response),
    retryAfterMs: readRetryAfter(response.headers['retry-after'], Date.now()),
  }
}

function responseTo({ url, headers, body, agent, signal }: HttpPost): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const send = isSecure ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    let wasConnected = false
    const sent = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
      agent,
      signal,
    })
    sent.on('socket', (socket: TLSSocket) => {
      if (!socket.connecting) wasConnected = true
      else socket.once(isSecure ? 'secureConnect' : 'connect', () => (wasConnected = true))
    })
    sent.on('response', resolve)
    sent.on('error', (error) => reject(new NoHttpAnswer(wasConnected, error)))
    sent.end(body)
  })
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.byteLength
      if (bytes > maxBodyBytes) break
    }
  } catch {
    // The status has come, and only the status counts.
  }
  return Buffer.concat(chunks).subarray(0, maxBodyBytes).toString()
}

/** Returns the wait that the header asks for, given as seconds or as a date. */
function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const waitMs = /^\s*\d{1,9}\s*$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs)
}
