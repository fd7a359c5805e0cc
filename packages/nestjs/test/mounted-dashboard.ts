import { deepEqual, equal, match } from 'node:assert/strict'
import { type CanActivate, type ExecutionContext, type INestApplication, Injectable } from '@nestjs/common'

/** Lets those through who send a name, and leaves it on the request, as a guard of a login does. */
@Injectable()
export class LoginGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ headers: Record<string, string>; user: string | undefined }>()
    request.user = request.headers['x-user']
    return request.user !== undefined
  }
}

/** Says what a person may do that the guard has let through. */
export function visitorOf({ user }: { user: string }) {
  return { actor: user, role: user === 'ann' ? 'operator' : 'viewer' } as const
}

/** Uses the dashboard of an application that listens, as the page and as a stranger do. Returns the stream of a page. */
export async function useDashboard(application: INestApplication, path: string): Promise<Response> {
  await application.listen(0, '127.0.0.1')
  const { port } = (application.getHttpServer() as { address(): { port: number } }).address()
  const origin = `http://127.0.0.1:${port}`
  const base = `${origin}${path}`
  const user = { 'x-user': 'ann' }

  for (const each of [path, `${path}/`, `${path}/api/session`, `${path}/assets/none.js`]) {
    equal((await fetch(`${origin}${each}`)).status, 403, each)
  }
  const page = await (await fetch(`${base}/default/events?status=DEAD`, { headers: user })).text()
  match(page, new RegExp(`<base href="${path}/" />`))
  const script = await fetch(`${base}/${/src="([^"]+)"/.exec(page)![1]}`, { headers: user })
  deepEqual([script.status, (await script.text()).length > 10_000], [200, true])
  equal((await fetch(base, { headers: user })).url, `${base}/`)

  const session = await fetch(`${base}/api/session`, { headers: user })
  const { actor, csrfToken } = (await session.json()) as { actor: string; csrfToken: string }
  equal(actor, 'ann')
  const pause = (more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${base}/api/outboxes/default/pause`, {
      method: 'POST',
      headers: {
        ...user,
        'content-type': 'application/json',
        origin,
        cookie: session.headers.get('set-cookie')!.split(';')[0]!,
        'x-sendoff-csrf': csrfToken,
        ...more,
      },
      body: '{"eventType":"OrderPaid"}',
    })
  equal((await pause({ 'x-user': 'bob' })).status, 403)
  equal((await pause({ origin: 'https://evil.example' })).status, 403)
  equal((await pause({ 'content-type': 'text/plain' })).status, 415)
  equal((await pause()).status, 200)
  return fetch(`${base}/api/outboxes/default/stream`, { headers: user })
}
