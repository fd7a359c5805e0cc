import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Refusal } from './refusal.ts'

/** The header in which a page repeats its CSRF token. */
export const csrfHeader = 'x-sendoff-csrf'

const cookieName = 'sendoff-csrf'

/**
 * Refuses an action that another site may have sent. Three things have to hold: the browser names no other
 * site, `Origin` is the address of the dashboard, and the header repeats the token of the cookie. Another
 * site can send the cookie, but can neither read it nor set the header.
 */
export function checkSameOrigin(request: Request, origins: readonly string[]): void {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') throw forged('The request comes from another site.')

  const origin = request.headers.get('origin')
  if (origin === null) throw forged('The request has no Origin header.')
  if (!isOwnOrigin(origin, request, origins)) {
    throw forged(
      'The Origin header names another address. If a proxy changes the Host header, name the address in the option "origins".',
    )
  }
  const token = csrfTokenOf(request)
  if (token === undefined || !isSame(token, request.headers.get(csrfHeader) ?? '')) {
    throw forged(`The header ${csrfHeader} does not repeat the token of the cookie. Load the page again.`)
  }
}

/**
 * Refuses a look that another site's page makes. That page could not read the answer, but it could keep the
 * database busy, and learn from the time that an answer takes. A person who follows a link is let in.
 */
export function checkLook(request: Request): void {
  const of = (name: string): string | null => request.headers.get(`sec-fetch-${name}`)
  if ([null, 'same-origin', 'none'].includes(of('site'))) return
  if (of('mode') === 'navigate' && of('dest') === 'document') return
  throw forged('The request comes from another site.')
}

/** Returns the CSRF token of the request's cookie; undefined if there is none. */
export function csrfTokenOf(request: Request): string | undefined {
  const cookies = request.headers.get('cookie') ?? ''
  return new RegExp(`(?:^|;\\s*)${cookieName}=([0-9a-f]{64})(?:;|$)`).exec(cookies)?.[1]
}

/** Returns a new token, and the cookie that keeps it in the browser. */
export function newCsrfToken(
  path: string,
  isSecure: boolean,
): { readonly token: string; readonly cookie: string } {
  const token = randomBytes(32).toString('hex')
  const secure = isSecure ? '; Secure' : ''
  return { token, cookie: `${cookieName}=${token}; Path=${path}; HttpOnly; SameSite=Strict${secure}` }
}

function isOwnOrigin(origin: string, request: Request, origins: readonly string[]): boolean {
  if (origins.includes(origin)) return true
  const own = request.headers.get('host') ?? new URL(request.url).host
  return URL.canParse(origin) && new URL(origin).host === own
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function forged(message: string): Refusal {
  return new Refusal(403, 'CROSS_SITE', message)
}
