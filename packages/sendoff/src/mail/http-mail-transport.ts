import { createHash } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { UnrecoverableError } from '../errors.ts'
import {
  anything,
  callable,
  checkOptions,
  duration,
  having,
  invalidOption,
  type OptionCheck,
  requireOptions,
  text,
} from '../options.ts'
import { exchange, type HttpAnswer, NoHttpAnswer } from './http-exchange.ts'
import { TransportUnavailableError } from './mail-errors.ts'
import type { ComposedMail, MailTransport, RejectedRecipient, SendContext } from './mail-transport.ts'

/** A response of a provider's API. */
export interface HttpMailAnswer {
  readonly status: number
  /** The body; undefined if it is not JSON, or larger than 64 KiB. */
  readonly json: unknown
}

type HttpHeaders = Readonly<Record<string, string>>

/** Options of `httpMailTransport`. */
export interface HttpMailTransportOptions {
  /** Address of the provider's API, to which mails are posted. */
  readonly url: string | URL
  /** Headers of every request, such as the one with the API key. A function is called for each request. */
  readonly headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>)
  /** Returns the body of the request, which is sent as JSON. `visibleRecipients` returns its recipients. */
  readonly body: (mail: ComposedMail) => unknown
  /**
   * Header by which the provider recognises a repeated request, such as `Idempotency-Key`. None by default.
   */
  readonly idempotencyHeader?: string
  /**
   * Returns the recipients that a response did not accept. If this returns undefined, the status decides for
   * all recipients.
   */
  readonly rejectedOf?: (
    answer: HttpMailAnswer,
    mail: ComposedMail,
  ) => readonly RejectedRecipient[] | undefined
  /** How long a request may take, in ms: 60 s by default. */
  readonly timeoutMs?: number
  /** Opens the connections, such as through a proxy or with your own certificates. */
  readonly agent?: HttpAgent
  /** The name of the transport in log texts and error texts: `http`. */
  readonly name?: string
}

const checks: Readonly<Record<keyof HttpMailTransportOptions, OptionCheck>> = {
  url: (value) => (urlOf(value) === undefined ? 'an http or https URL' : undefined),
  headers: (value) => (callable(value) === undefined ? undefined : having()(value)),
  body: callable,
  idempotencyHeader: text,
  rejectedOf: callable,
  timeoutMs: duration,
  agent: anything,
  name: text,
}

const keptCharacters = 300
const shortestSecret = 6
/** Statuses by which a provider rejects the account or the key, or asks all clients to wait. */
const unavailableStatus = new Set([401, 402, 403, 407, 429, 502, 503])
const passingStatus = new Set([408, 409, 425])

/** Defaults of `httpMailTransport`. */
export const httpMailDefaults = { timeoutMs: 60_000, name: 'http' }

/**
 * Posts mails as JSON to the API of a provider. A 2xx status accepts a mail for all recipients.
 *
 * No attempt counts, and mails wait, if the provider cannot be reached, refuses the key or is overloaded:
 * 401, 402, 403, 407, 429, 502, 503, redirects. An attempt counts for 408, 409, 425 and other 5xx, and for a
 * connection lost before a response. Any other status refuses the mail for good.
 */
export function httpMailTransport(options: HttpMailTransportOptions): MailTransport {
  checkOptions('httpMailTransport', options, checks)
  requireOptions('httpMailTransport', options, ['url', 'body'])
  const url = urlOf(options.url)!
  if (url.username !== '' || url.password !== '') {
    throw invalidOption('httpMailTransport', 'url', options.url, () => 'without a password; use a header')
  }
  const { timeoutMs = httpMailDefaults.timeoutMs, rejectedOf, name = httpMailDefaults.name } = options
  const AgentOfProtocol = url.protocol === 'https:' ? HttpsAgent : HttpAgent
  const agent = options.agent ?? new AgentOfProtocol({ keepAlive: true })

  async function answerTo(
    mail: ComposedMail,
    headers: HttpHeaders,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const post = { url, headers, body: bodyOf(mail, options), agent }
    const deadline = AbortSignal.timeout(timeoutMs)
    try {
      return await exchange({ ...post, signal: AbortSignal.any([signal, deadline]) })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof NoHttpAnswer)) throw error
      if (!error.wasConnected) {
        throw new TransportUnavailableError(`${url.origin} cannot be reached.`, { cause: error.cause })
      }
      const silence = `${url.origin} did not answer within ${timeoutMs} ms.`
      throw deadline.aborted
        ? new Error(silence)
        : new Error(`The connection to ${url.origin} was lost.`, { cause: error.cause })
    }
  }

  return {
    name,

    async send(mail: ComposedMail, { signal }: SendContext) {
      const given = typeof options.headers === 'function' ? await options.headers() : options.headers
      const headers = { 'content-type': 'application/json', ...given, ...idempotencyOf(mail, options) }
      const answer = await answerTo(mail, headers, signal)
      const rejected = rejectedBy(answer, mail, rejectedOf)
      if (rejected !== undefined) return { rejected }

      const { status, retryAfterMs } = answer
      if (status >= 200 && status < 300) return { rejected: [] }
      const reason = `${url.origin} answered ${status}: ${withoutSecrets(answer.text, { ...given }, url)}`
      if (unavailableStatus.has(status) || status < 400) {
        throw new TransportUnavailableError(reason, { retryAfterMs })
      }
      if (status >= 500 || passingStatus.has(status)) throw new Error(reason)
      return { rejected: mail.envelope.to.map((address) => ({ address, isPermanent: true, reason })) }
    },
  }
}

/** Recipients as APIs take them: two lists that every recipient sees, and one that stays hidden. */
export interface VisibleRecipients {
  readonly to: ComposedMail['to']
  readonly cc: ComposedMail['cc']
  readonly bcc: ComposedMail['to']
}

/**
 * Returns the recipients of this attempt for an API without an envelope: those in `mail.envelope.to` and no
 * others. If only hidden ones are left, the mail goes to its sender as well, because APIs need a visible
 * recipient.
 */
export function visibleRecipients(mail: ComposedMail): VisibleRecipients {
  const open = new Set(mail.envelope.to)
  const take = (addresses: ComposedMail['to']) => addresses.filter(({ address }) => open.delete(address))
  const to = take(mail.to)
  const cc = take(mail.cc)
  const bcc = Array.from(open, (address) => ({ address }))
  if (to.length > 0) return { to, cc, bcc }
  return cc.length > 0 ? { to: cc, cc: [], bcc } : { to: [mail.from], cc: [], bcc }
}

function bodyOf(mail: ComposedMail, { body }: HttpMailTransportOptions): Uint8Array {
  try {
    return Buffer.from(JSON.stringify(body(mail)))
  } catch (cause) {
    throw new UnrecoverableError(`The request for mail ${mail.id} cannot be made.`, { cause })
  }
}

// A further attempt for fewer recipients is another request, so it gets another key.
function idempotencyOf(mail: ComposedMail, { idempotencyHeader }: HttpMailTransportOptions): HttpHeaders {
  if (idempotencyHeader === undefined) return {}
  const recipients = createHash('sha256').update(mail.envelope.to.join()).digest('base64url').slice(0, 16)
  return { [idempotencyHeader]: `${mail.id}-${recipients}` }
}

// The response has come, and the mail may be on its way: a fault here must not lead to another attempt.
function rejectedBy(
  { status, text: body }: HttpAnswer,
  mail: ComposedMail,
  rejectedOf: HttpMailTransportOptions['rejectedOf'],
): readonly RejectedRecipient[] | undefined {
  if (rejectedOf === undefined) return undefined
  try {
    return rejectedOf({ status, json: jsonOf(body) }, mail)
  } catch (cause) {
    throw new UnrecoverableError(`rejectedOf failed at the answer to mail ${mail.id}, status ${status}.`, {
      cause,
    })
  }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

// A server may repeat the secrets of a request in its response.
function withoutSecrets(body: string, headers: HttpHeaders, url: URL): string {
  const values = [...Object.values(headers), ...url.searchParams.values()]
  const secrets = values.flatMap((value) => [value, ...value.split(/\s+/)])
  return secrets
    .filter((secret) => secret.length >= shortestSecret)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), body)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, keptCharacters)
}

function urlOf(value: unknown): URL | undefined {
  const url = value instanceof URL ? value : URL.parse(String(value))
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined
}
