import { createHash, timingSafeEqual } from 'node:crypto'
import { OutboxError } from 'sendoff'
import type { Authorize, Visitor } from './visitor.ts'

/** Options of `tokenAuthorize`. */
export interface TokenAuthorizeOptions {
  /** Visitors by their tokens. A token has at least 16 characters. */
  readonly tokens: Readonly<Record<string, Visitor>>
}

/**
 * Returns an `authorize` that knows visitors by a secret token: `Authorization: Bearer <token>`. A browser
 * asks for a name and a password; the token is the password, and the name may be any.
 */
export function tokenAuthorize({ tokens }: TokenAuthorizeOptions): Authorize {
  const known = Object.entries(tokens).map(([token, visitor]) => {
    if (token.length >= 16) return { hash: hashOf(token), visitor }
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'Every token of tokenAuthorize needs at least 16 characters. Make a longer one.',
    )
  })

  return (request) => {
    const hash = hashOf(tokenOf(request.headers.get('authorization')) ?? '')
    let found: Visitor | undefined
    // Compares with every token, so that the time tells nothing.
    for (const each of known) if (timingSafeEqual(each.hash, hash)) found = each.visitor
    return found ?? new Response('Unauthorized', { status: 401, headers: challenge })
  }
}

const challenge = { 'www-authenticate': 'Basic realm="Sendoff", charset="UTF-8"' }

function tokenOf(header: string | null): string | undefined {
  const [, scheme, value = ''] = /^(bearer|basic) +(\S+)$/i.exec(header ?? '') ?? []
  if (scheme === undefined) return undefined
  if (scheme.toLowerCase() === 'bearer') return value
  const pair = Buffer.from(value, 'base64').toString()
  return /^[^:]*:(.*)$/s.exec(pair)?.[1]
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
