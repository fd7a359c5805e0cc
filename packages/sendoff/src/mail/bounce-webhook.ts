import { callable, checkOptions, duration, having, requireOptions } from '../options.ts'
import { bodyWithin, isSigned, secretList } from '../webhook-request.ts'
import { webhookKey } from '../webhook-signature.ts'
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
    secrets: secretList,
    bouncesOf: callable,
    toleranceMs: duration,
  })
  requireOptions('bounceWebhook', options, ['suppressions', 'secrets', 'bouncesOf'])
  options.secrets.forEach(webhookKey)
  const { suppressions, bouncesOf, secrets, toleranceMs = bounceWebhookDefaults.toleranceMs } = options

  return async (request) => {
    if (request.method !== 'POST') return answer(405)
    let body: Buffer | undefined
    try {
      body = await bodyWithin(maxBodyBytes, request)
    } catch {
      return answer(400)
    }
    if (body === undefined) return answer(413)
    if (!isSigned(request.headers, body, { secrets, toleranceMs })) return answer(401)

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

function answer(status: number): Response {
  return new Response(null, { status })
}
