import { lookup as resolve, type LookupAddress } from 'node:dns'
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPrivateAddress } from './private-address.ts'

export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface HttpRequesterOptions {
  readonly timeoutMs: number
  readonly allowRedirects: boolean
  readonly allowPrivateAddresses: boolean
}

/** There was an answer, but not a good one. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError'
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(url: URL, response: IncomingMessage, text: string) {
    const status = response.statusCode!
    // Without the query: it may have what is not for the log.
    super(`${url.origin}${url.pathname} answered ${status}${text === '' ? '' : `: ${text}`}`)
    this.status = status
    this.retryAfterMs = readRetryAfter(response.headers['retry-after'], Date.now())
  }
}

/** There was no answer. */
export class HttpConnectionError extends Error {
  override readonly name = 'HttpConnectionError'
  /** It was not asked, because the address is not allowed. */
  readonly isRefusedByRule: boolean
  /** It was reached, and did not answer in time. */
  readonly isSilence: boolean

  constructor(message: string, reason: 'refused' | 'silent' | 'unreachable', options?: ErrorOptions) {
    super(message, options)
    this.isRefusedByRule = reason === 'refused'
    this.isSilence = reason === 'silent'
  }
}

const maxRedirects = 3
const keptResponseCharacters = 300
const longestRetryAfterMs = 86_400_000

/** Makes requests over connections that are kept open. Resolves on a status of the 200s, and rejects on all else. */
export class HttpRequester {
  readonly #options: HttpRequesterOptions
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: 32 }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: 32 }),
  }

  constructor(options: HttpRequesterOptions) {
    this.#options = options
  }

  async request(request: HttpRequest, signal: AbortSignal): Promise<void> {
    const { timeoutMs, allowRedirects } = this.#options
    const deadline = AbortSignal.timeout(timeoutMs)
    const stop = AbortSignal.any([signal, deadline])
    let { url } = request

    for (let redirects = 0; ; redirects++) {
      const response = await this.#response(request, url, stop).catch((error: unknown) => {
        signal.throwIfAborted()
        throw asConnectionError(url, error, deadline.aborted ? timeoutMs : undefined)
      })
      const text = await shortText(response)
      const status = response.statusCode!
      if (status >= 200 && status < 300) return

      const { location } = response.headers
      const follows = allowRedirects && redirects < maxRedirects && (status === 307 || status === 308)
      if (!follows || location === undefined) throw new HttpStatusError(url, response, text)
      url = new URL(location, url)
    }
  }

  #response(request: HttpRequest, url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const { allowPrivateAddresses } = this.#options
    const host = url.hostname.replace(/^\[|\]$/g, '')
    // Only names are looked up, so that addresses have to be judged here.
    if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivateAddress(host)) throw refused(host)

    const send = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve) => {
      const sent = send(url, {
        method: request.method,
        headers: { ...request.headers, 'content-length': request.body.byteLength },
        agent: this.#agents[url.protocol as 'http:' | 'https:'],
        signal,
        ...(!allowPrivateAddresses && { lookup: publicLookup }),
      })
      sent.on('response', resolve).on('error', (error: NodeJS.ErrnoException) => {
        // The other side has closed a connection that was kept open, at the moment of its use.
        const isStale = sent.reusedSocket && error.code === 'ECONNRESET' && !signal.aborted
        resolve(isStale ? this.#response(request, url, signal) : Promise.reject(error))
      })
      sent.end(request.body)
    })
  }
}

/** Looks names up as usual, and judges the very addresses that are then connected to. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    const found: readonly LookupAddress[] = addresses ?? []
    const inner = found.find(({ address }) => isPrivateAddress(address))
    if (error) callback(error, [])
    else if (inner !== undefined) callback(refused(inner.address), [])
    else if (options.all) callback(null, [...found])
    else callback(null, found[0]!.address, found[0]!.family)
  })
}

function refused(address: string): HttpConnectionError {
  return new HttpConnectionError(
    `${address} is a private address, and those are posted to only with allowPrivateAddresses.`,
    'refused',
  )
}

function asConnectionError(
  url: URL,
  error: unknown,
  timedOutAfterMs: number | undefined,
): HttpConnectionError {
  if (error instanceof HttpConnectionError) return error
  return timedOutAfterMs === undefined
    ? new HttpConnectionError(`${url.origin} cannot be reached.`, 'unreachable', { cause: error })
    : new HttpConnectionError(`${url.origin} did not answer within ${timedOutAfterMs} ms.`, 'silent')
}

/** The beginning of a response; what follows is read to its end only where that is not far. */
async function shortText(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8')
  let text = ''
  try {
    for await (const chunk of response) {
      text += String(chunk)
      if (text.length > keptResponseCharacters) break
    }
  } catch {
    // The status has come, and that is what counts.
  }
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, keptResponseCharacters)
}

/** Seconds or a date, as a wait of a day at the most. */
function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const waitMs = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), longestRetryAfterMs)
}
