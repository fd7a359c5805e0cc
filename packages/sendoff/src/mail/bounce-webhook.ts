import { timingSafeEqual } from 'node:crypto'
import { callable, checkOptions, duration, having, type OptionCheck, requireOptions } from '../options.ts'
import { webhookKey, webhookSignature } from '../webhook-signature.ts'
import { checkedAddress } from './mail-address.ts'
import type { SuppressionList } from './suppression-list.ts'

/** An address that must get no more mail. */
export interface Bounce {
  readonly address: string
  readonly reason: string
}

/** Options of `bounceWebhook`. */
export interface BounceWebhookOptions {
  /** The suppression list that receives the addresses of bounces. */
  readonly suppressions: Pick<SuppressionList<never>, 'add'>
  /**
   * Secrets that the provider signs with, in base64, with or without `whsec_`. Give both while a new one
   * replaces an old one.
   */
  readonly secrets: readonly string[]
  /**
   * Returns the bounced addresses of a message of the provider; none if the message is not about a bounce.
   */
  readonly bouncesOf: (message: unknown) => readonly Bounce[]
  /** How old a message may be, in ms: 5 min by default. */
  readonly toleranceMs?: number
}

const secrets: OptionCheck = (value) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((secret) => typeof secret === 'string' && secret !== '')
    ? undefined
    : 'a list of secrets'

const maxBodyBytes = 1_048_576

/** Defaults of `bounceWebhook`. */
export const bounceWebhookDefaults = { toleranceMs: 300_000 }

/**
 * Returns a handler that receives the bounces and complaints of a mail provider, and puts the addresses on
 * the suppression list.
 *
 * The handler takes a standard `Request` and returns a `Response`, so it works with any server that uses
 * these. It refuses messages that lack a valid Standard Webhooks signature.
 */
export function bounceWebhook(options: BounceWebhookOptions): (request: Request) => Promise<Response> {
  checkOptions('bounceWebhook', options, {
    suppressions: having('add'),
    secrets,
    bouncesOf: callable,
    toleranceMs: duration,
  })
  requireOptions('bounceWebhook', options, ['suppressions', 'secrets', 'bouncesOf'])
  options.secrets.forEach(webhookKey)
  const { suppressions, bouncesOf } = options

  return async (request) => {
    if (request.method !== 'POST') return answer(405)
    let body: Buffer | undefined
    try {
      body = await bodyOf(request)
    } catch {
      return answer(400)
    }
    if (body === undefined) return answer(413)
    if (!isSigned(request.headers, body, options)) return answer(401)

    let bounces: readonly Bounce[]
    try {
      bounces = bouncesOf(JSON.parse(body.toString()))
      bounces.forEach(({ address }) => checkedAddress('a bounce', address))
    } catch {
      return answer(400)
    }
    for (const { address, reason } of bounces) await suppressions.add(address, reason)
    return answer(204)
  }
}

/** Returns the body, or undefined if it is too large. It stops reading at the limit. */
async function bodyOf({ headers, body }: Request): Promise<Buffer | undefined> {
  if (body === null) return Buffer.alloc(0)
  if (Number(headers.get('content-length')) > maxBodyBytes) {
    await body.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function isSigned(headers: Headers, body: Buffer, options: BounceWebhookOptions): boolean {
  const id = headers.get('webhook-id')
  const timestamp = headers.get('webhook-timestamp')
  const signatures = headers.get('webhook-signature')?.split(' ') ?? []
  const ageMs = Math.abs(Date.now() - Number(timestamp) * 1_000)
  if (
    id === null ||
    timestamp === null ||
    !(ageMs <= (options.toleranceMs ?? bounceWebhookDefaults.toleranceMs))
  )
    return false

  return options.secrets.some((secret) => {
    const expected = webhookSignature({ id, timestamp, body }, secret)
    return signatures.some((signature) => {
      const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
  })
}

function answer(status: number): Response {
  return new Response(null, { status })
}
