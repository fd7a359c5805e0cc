import { OutboxError, UnrecoverableError } from '../../errors.ts'
import { callable, checkOptions, count, flag, oneOf, requireOptions, anything } from '../../options.ts'
import { type Publisher, type Routed, routed } from '../../publisher.ts'
import { webhookKey } from '../../webhook-signature.ts'
import { brokerPublisher, type Verdict } from '../broker-publisher.ts'
import { type PublisherOptions, publisherOptionChecks } from '../publisher-options.ts'
import { sendInLanes } from '../send-in-lanes.ts'
import { asciiValue, bodyBytes, wireMessage } from '../wire-message.ts'
import { HttpConnectionError, HttpStatusError, HttpUnsentError } from './http-errors.ts'
import { HttpRequester } from './http-requester.ts'
import { signatureHeaders } from './standard-webhooks.ts'

/** Options of `httpPublisher`. */
export interface HttpPublisherOptions extends PublisherOptions {
  /** Address of the receiver. */
  readonly url: Routed<string | URL>
  /** The method of the requests: `POST`. */
  readonly method?: 'POST' | 'PUT' | 'PATCH'
  /**
   * Secrets for signatures by the rules of Standard Webhooks (`whsec_…`). With several, each signs the
   * message, so that receivers with the old and with the new secret accept it.
   */
  readonly secret?: Routed<string | readonly string[]>
  /**
   * How many requests to one origin run at a time: 32 by default. The time limit of a request starts with its
   * turn.
   */
  readonly maxConcurrentRequests?: number
  /**
   * What happens to events whose receiver cannot be reached: with `defer` they wait for it for ever, with
   * `retry` an attempt counts.
   */
  readonly onUnreachable?: 'defer' | 'retry'
  /**
   * Follows redirects that keep the method (307, 308) within the same origin, or from its http to its https;
   * three at the most.
   */
  readonly allowRedirects?: boolean
  /** Also posts to addresses of this machine and of private networks. */
  readonly allowPrivateAddresses?: boolean
}

/** Defaults of `httpPublisher`. */
export const httpDefaults = {
  method: 'POST',
  onUnreachable: 'defer',
  timeoutMs: 15_000,
  maxConcurrentRequests: 32,
  allowRedirects: false,
  allowPrivateAddresses: false,
} as const

/**
 * Posts events to URLs. A 2xx status is the acknowledgement.
 *
 * 408, 425, 429 and all 5xx lead to another attempt. If the response has `Retry-After`, that attempt comes at
 * the given time, and the failed one does not count. Any other status fails the event for good.
 */
export function httpPublisher(options: HttpPublisherOptions): Publisher {
  checkOptions('httpPublisher', options, {
    ...publisherOptionChecks,
    url: (value) =>
      typeof value === 'string' || value instanceof URL
        ? undefined
        : callable(value) && 'a URL or a function',
    method: oneOf('POST', 'PUT', 'PATCH'),
    secret: anything,
    maxConcurrentRequests: count,
    onUnreachable: oneOf('defer', 'retry'),
    allowRedirects: flag,
    allowPrivateAddresses: flag,
  })
  requireOptions('httpPublisher', options, ['url'])
  checkSecret(options)
  const {
    url,
    secret,
    method = httpDefaults.method,
    onUnreachable = httpDefaults.onUnreachable,
    timeoutMs = httpDefaults.timeoutMs,
    allowRedirects = httpDefaults.allowRedirects,
    allowPrivateAddresses = httpDefaults.allowPrivateAddresses,
    maxConcurrentRequests = httpDefaults.maxConcurrentRequests,
  } = options
  const requester = new HttpRequester({
    timeoutMs,
    maxConcurrentRequests,
    idleMs,
    allowRedirects,
    allowPrivateAddresses,
  })

  return brokerPublisher(
    {
      name: 'HTTP',

      message(event) {
        const { body, contentType, headers } = wireMessage(event, options, 'ce-', sendableHeaders)
        const bytes = bodyBytes(body)
        const signature =
          secret === undefined
            ? {}
            : signatureHeaders(event.eventId, bytes, routed(secret, event), new Date())
        return {
          url: parseUrl(routed(url, event)),
          method,
          body: bytes,
          headers: { ...asciiValues(headers), ...signature, 'content-type': contentType },
        }
      },

      destination: (request) => request.url.origin,

      send(letters, _answers, signal) {
        const terms = { signal, beginUntil: performance.now() + beginWithinMs }
        return sendInLanes(letters, (request) => requester.request(request, terms))
      },

      verdict: (error) => verdictOn(error, onUnreachable),
    },
    options,
  )
}

// A batch is settled when all of its requests have ended. A slow receiver must not delay that beyond the
// listener's time limit.
const beginWithinMs = 60_000

const idleMs = 15_000

// A receiver that accepts unsigned messages would hide the mistake. One that does not would refuse every
// event.
function checkSecret(options: HttpPublisherOptions): void {
  if (!('secret' in options)) return
  const { secret } = options as { readonly secret: HttpPublisherOptions['secret'] | undefined }
  if (secret === undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'Option "secret" of httpPublisher is undefined, so that messages would be sent unsigned. Leave it out if they are to be.',
    )
  }
  if (typeof secret !== 'function') for (const one of [secret].flat()) webhookKey(one)
}

function verdictOn(error: unknown, onUnreachable: 'defer' | 'retry'): Verdict {
  if (error instanceof HttpUnsentError) return 'unsent'
  if (error instanceof HttpConnectionError) {
    if (error.reason === 'refused') return 'fatal'
    return error.reason === 'unreachable' && onUnreachable === 'defer' ? 'unavailable' : 'retry'
  }
  if (!(error instanceof HttpStatusError)) return 'retry'

  const { status, retryAfterMs } = error
  const isTemporary = status >= 500 || status === 408 || status === 425 || status === 429
  if (!isTemporary) return 'fatal'
  return retryAfterMs === undefined ? 'retry' : { retryAfterMs }
}

function parseUrl(url: string | URL): URL {
  const parsed = url instanceof URL ? url : URL.parse(url)
  if (parsed !== null && /^https?:$/.test(parsed.protocol)) return parsed
  throw new UnrecoverableError(`"${String(url)}" is no URL that can be posted to.`)
}

// These headers belong to a connection and not to a message, and the client sets them.
const connectionHeaders = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns headers with valid HTTP names, in lower case so that each name occurs once. */
function sendableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [headerName(name), value] as const)
  return Object.fromEntries(
    named.filter(([name]) => !connectionHeaders.has(name) && !name.startsWith('proxy-')),
  )
}

function asciiValues(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, asciiValue(value)]))
}

function headerName(name: string): string {
  if (/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name)) return name.toLowerCase()
  throw new UnrecoverableError(`"${name}" cannot be the name of an HTTP header.`)
}
