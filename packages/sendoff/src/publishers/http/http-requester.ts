import { lookup as resolve, type LookupAddress } from 'node:dns'
import { type Agent, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { HttpConnectionError, HttpStatusError, HttpUnsentError } from './http-errors.ts'
import { exchange, type HttpAnswer, type HttpRequest, StaleConnectionError } from './http-exchange.ts'
import { isPrivateAddress } from './private-address.ts'
import { redirectTarget } from './redirect.ts'
import { Turns } from './turns.ts'

/** Options of `HttpRequester`. */
export interface HttpRequesterOptions {
  /** How long one request may take from its turn on, redirects included, in ms. */
  readonly timeoutMs: number
  /** How many requests to one origin run at a time. */
  readonly maxConcurrentRequests: number
  /** How long a connection is kept open without a request, in ms. */
  readonly idleMs: number
  readonly allowRedirects: boolean
  readonly allowPrivateAddresses: boolean
}

/** Limits that the requests of one batch share. */
export interface RequestTerms {
  readonly signal: AbortSignal
  /** A request whose turn comes later than this, by `performance.now()`, is not sent. */
  readonly beginUntil: number
}

const maxRedirects = 3

/** Sends requests over connections that stay open. Resolves on a 2xx status, and rejects otherwise. */
export class HttpRequester {
  readonly #options: HttpRequesterOptions
  readonly #turns: Turns
  readonly #agents: Readonly<Record<string, Agent>>

  constructor(options: HttpRequesterOptions) {
    this.#options = options
    this.#turns = new Turns(options.maxConcurrentRequests)
    // These agents have no limit of sockets. Otherwise a request would wait for a socket while its time runs.
    const kept = { keepAlive: true, timeout: options.idleMs }
    this.#agents = { 'http:': new HttpAgent(kept), 'https:': new HttpsAgent(kept) }
  }

  async request(request: HttpRequest, { signal, beginUntil }: RequestTerms): Promise<void> {
    const { origin } = request.url
    const turn = this.#turns.take(origin, signal)
    if (turn !== undefined) await turn.catch(() => unsent())
    try {
      if (signal.aborted || performance.now() > beginUntil) unsent()
      await this.#requestInTime(request, signal)
    } finally {
      this.#turns.leave(origin)
    }
  }

  async #requestInTime(request: HttpRequest, signal: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#options
    const stop = new AbortController()
    const breakOff = (): void => stop.abort(signal.reason)
    const timer = setTimeout(() => {
      const message = `${request.url.origin} did not answer within ${timeoutMs} ms.`
      stop.abort(new HttpConnectionError(message, 'silent'))
    }, timeoutMs)
    signal.addEventListener('abort', breakOff, { once: true })
    try {
      await this.#requestWithRedirects(request, stop.signal)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', breakOff)
    }
  }

  async #requestWithRedirects(request: HttpRequest, stop: AbortSignal): Promise<void> {
    let { url } = request
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#answer({ ...request, url }, stop)
      const { status } = answer
      if (status >= 200 && status < 300) return

      const { location } = answer.headers
      const isFollowed = this.#options.allowRedirects && (status === 307 || status === 308)
      if (!isFollowed || location === undefined) throw new HttpStatusError(url, answer)
      if (redirects === maxRedirects) throw new HttpStatusError(url, answer, 'It redirects too often.')
      const target = redirectTarget(url, location)
      if (typeof target === 'string') throw new HttpStatusError(url, answer, target)
      url = target
    }
  }

  async #answer(request: HttpRequest, stop: AbortSignal): Promise<HttpAnswer> {
    stop.throwIfAborted()
    const { allowPrivateAddresses } = this.#options
    const host = request.url.hostname.replace(/^\[|\]$/g, '')
    // The lookup checks names only, so this checks literal addresses.
    if (!allowPrivateAddresses && isIP(host) !== 0 && isPrivateAddress(host)) throw refused(host)

    const lookup = allowPrivateAddresses ? undefined : { lookup: publicLookup }
    const agent = this.#agents[request.url.protocol]!
    try {
      return await exchange(request, { agent, stop, ...lookup })
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error
      // The second try gets a connection of its own. This distinguishes a receiver that breaks off on purpose
      // from an idle connection.
      return await exchange(request, { agent: false, stop, ...lookup })
    }
  }
}

function unsent(): never {
  throw new HttpUnsentError('The batch ended before the turn of this request.')
}

/** Resolves names as usual, and checks the very addresses that the client then connects to. */
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
