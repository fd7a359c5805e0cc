import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** Serves web requests, as the handler of a dashboard does. */
export type WebHandler = (request: Request) => Promise<Response>

/** A listener for Node's `http` server, which Express takes, too. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/** How long a client may leave what was sent to it unread, in milliseconds. */
const stalledMs = 30_000

/**
 * Makes a handler of web requests a listener of Node's `http` server. Express calls it as a middleware. A
 * client that stops reading is cut off, and never holds more than a few messages in memory.
 */
export function nodeListener(handler: WebHandler): NodeListener {
  return (incoming, outgoing) => {
    // An error of the client's connection ends the exchange, and nothing else.
    outgoing.on('error', () => {})
    exchange(handler, incoming, outgoing).catch(() => outgoing.destroy())
  }
}

async function exchange(
  handler: WebHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const request = webRequest(incoming, left.signal)
  if (request === undefined) {
    outgoing.writeHead(400, { connection: 'close' }).end()
    return
  }
  const response = await handler(request)
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) {
    if (name !== 'set-cookie') outgoing.setHeader(name, value)
  }
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies)
  // What is left of a refused body is not read: the connection ends with the answer.
  if (!incoming.complete) outgoing.setHeader('connection', 'close')
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  await send(response.body, outgoing, left.signal)
}

async function send(
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  left: AbortSignal,
): Promise<void> {
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => {})
  left.addEventListener('abort', cancel, { once: true })
  if (left.aborted) cancel()
  for (let part = await reader.read(); !part.done && !left.aborted; part = await reader.read()) {
    if (outgoing.write(part.value)) continue
    const stalled = setTimeout(() => outgoing.destroy(), stalledMs).unref()
    await once(outgoing, 'drain', { signal: left }).catch(() => {})
    clearTimeout(stalled)
  }
  outgoing.end()
}

function webRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { originalUrl, body } = incoming as { originalUrl?: string; body?: unknown }
  const isSecure = (incoming.socket as { encrypted?: boolean }).encrypted === true
  const host = incoming.headers.host ?? 'localhost'
  const address = `${isSecure ? 'https' : 'http'}://${host}${originalUrl ?? incoming.url ?? '/'}`
  if (!URL.canParse(address)) return undefined

  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (name.startsWith(':')) continue
    for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  const method = incoming.method ?? 'GET'
  if (/^(?:CONNECT|TRACE|TRACK)$/i.test(method)) return undefined
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // A parser of the framework may have read the body already.
  const content =
    incoming.readableEnded || incoming.readableDidRead ? JSON.stringify(body ?? null) : undefined
  const stream = (): ReadableStream => Readable.toWeb(incoming) as ReadableStream
  return new Request(address, {
    method,
    headers,
    signal,
    ...(hasBody && { body: content ?? stream(), duplex: 'half' }),
  })
}
