import { deepEqual, doesNotMatch, equal, match, ok, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import type { OutboxAdmin, Plan } from 'sendoff/admin'
import { checksumOf } from '../../sendoff/src/admin/checksum.ts'
import { dashboard, tokenAuthorize } from '../src/index.ts'
import { maxBodyBytes } from '../src/guard/json-body.ts'
import { apiRoutes } from '../src/dashboard.ts'
import { address, type ClientOptions, DashboardClient } from './dashboard-client.ts'
import { filledOutbox } from './filled-outbox.ts'

const pause = 'outboxes/orders/pause'
const target = { eventType: 'OrderPaid' }

async function opened(options: Partial<ClientOptions> = {}) {
  const { admin } = await filledOutbox({ dead: 2, waiting: 2 })
  return { admin, client: new DashboardClient({ admins: { orders: admin }, ...options }) }
}

async function refused(response: Response | Promise<Response>, status: number, code: string): Promise<void> {
  const answer = await response
  const { error } = (await answer.json()) as { error: { code: string } }
  deepEqual([answer.status, error.code], [status, code])
}

/** Whether anything was done. */
async function isUntouched(admin: OutboxAdmin<never>): Promise<boolean> {
  return (await admin.audit.list()).entries.length === 0
}

describe('a visitor', () => {
  it('cannot be left out: the dashboard needs authorize', () => {
    throws(() => dashboard({ admins: {} } as never), /needs the option "authorize"/)
  })

  it('who is not known sees nothing: no page, no file, no API', async () => {
    const { client, admin } = await opened({ authorize: () => undefined })
    for (const path of [
      '/',
      '/orders/overview',
      '/assets/icon.svg',
      '/api/session',
      '/api/openapi.json',
      '/nothing',
    ]) {
      await refused(client.send(path), 401, 'UNAUTHORIZED')
    }
    await refused(client.send(`/api/${pause}`, { method: 'POST', body: '{}' }), 401, 'UNAUTHORIZED')
    equal(await isUntouched(admin), true)
  })

  it('is refused if authorize throws, or returns nonsense', async () => {
    const heard: unknown[] = []
    const onError = (error: unknown): void => void heard.push(error)
    for (const authorize of [
      () => {
        throw new Error('session store is down')
      },
      () => ({ actor: 'ann', role: 'owner' }),
      () => ({ actor: '', role: 'admin' }),
      () => ({ role: 'admin' }),
      () => true,
      () => 'admin',
      () => ({ actor: 'ann', role: 'constructor' }),
    ]) {
      const { client } = await opened({ authorize: authorize as never, onError })
      await refused(client.send('/api/session'), 401, 'UNAUTHORIZED')
    }
    equal(heard.length, 1)
  })

  it('is sent where authorize says, with the headers that keep the page safe', async () => {
    const { client } = await opened({ authorize: () => Response.redirect(`${address}/login`) })
    const response = await client.send('/')
    deepEqual([response.status, response.headers.get('location')], [302, `${address}/login`])
    match(response.headers.get('content-security-policy')!, /script-src 'self'/)
  })

  it('with a token is known by it, and by nothing else', async () => {
    const token = 'a-long-secret-token'
    throws(() => tokenAuthorize({ tokens: { short: { actor: 'a', role: 'admin' } } }), /at least 16/)
    const { client } = await opened({
      authorize: tokenAuthorize({ tokens: { [token]: { actor: 'bob', role: 'viewer' } } }),
    })
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
    for (const wrong of [
      '',
      'Bearer',
      'Bearer x',
      `Bearer ${token}x`,
      basic('bob:'),
      basic(token),
      `Token ${token}`,
    ]) {
      const response = await client.send('/api/session', {
        headers: wrong === '' ? {} : { authorization: wrong },
      })
      deepEqual(
        [response.status, response.headers.get('www-authenticate')?.slice(0, 5)],
        [401, 'Basic'],
        wrong,
      )
    }
    for (const right of [`Bearer ${token}`, basic(`x:${token}`), basic(`:${token}`)]) {
      const session = await client.get<{ actor: string; role: string }>('session', { authorization: right })
      deepEqual([session.actor, session.role], ['bob', 'viewer'])
    }
  })
})

describe('an action', () => {
  it('works from the page itself', async () => {
    const { client, admin } = await opened()
    await client.act(pause, target)
    deepEqual(await admin.paused(), [target])
    equal((await admin.audit.list()).entries[0]!.actor, 'ann')
  })

  const forged: readonly [what: string, headers: Record<string, string | null>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['nowhere, as the browser says', { 'sec-fetch-site': 'none' }],
    ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': null }],
    ['an opaque origin', { origin: 'null', 'sec-fetch-site': null }],
    ['an origin that begins like ours', { origin: `${address}.evil.example`, 'sec-fetch-site': null }],
    ['no origin', { origin: null, 'sec-fetch-site': null }],
    ['a page without the token', { 'x-sendoff-csrf': null }],
    ['a page with a wrong token', { 'x-sendoff-csrf': '0'.repeat(64) }],
    ['a page with a shorter token', { 'x-sendoff-csrf': '0' }],
    ['a page without the cookie', { cookie: null }],
    ['a page that has set both to nothing', { cookie: 'sendoff-csrf=', 'x-sendoff-csrf': '' }],
  ]
  for (const [what, headers] of forged) {
    it(`is refused from ${what}`, async () => {
      const { client, admin } = await opened()
      await refused(client.post(pause, target, headers), 403, 'CROSS_SITE')
      equal(await isUntouched(admin), true)
    })
  }

  it('is refused with a name that is longer than any that is in use', async () => {
    const { client, admin } = await opened()
    const long = 'x'.repeat(2_001)
    await refused(client.post(pause, { eventType: long }), 400, 'INVALID_BODY')
    await refused(client.post('outboxes/orders/keys/park', { orderingKey: long }), 400, 'INVALID_BODY')
    const skip = { orderingKey: 'a', reason: long }
    await refused(client.post('outboxes/orders/keys/skip', skip), 400, 'INVALID_BODY')
    equal(await isUntouched(admin), true)
  })

  it('by a plan that was forged, checksum and all, changes no event in another state', async () => {
    const { client, admin } = await opened()
    const plan = await client.act<Plan>('outboxes/orders/plans', { action: 'replay', filter: {}, all: true })
    const { checksum: _, ...honest } = plan
    for (const [action, status] of [
      ['replay', [0, 1, 2]],
      ['cancel', [3]],
      ['skip', [0, 3]],
    ] as const) {
      const forged = { ...honest, action, filter: { status } }
      const signed = { ...forged, checksum: checksumOf(forged) }
      const before = JSON.stringify((await admin.browse()).events)
      const response = await client.post('outboxes/orders/runs', { plan: signed }, { 'x-role': 'operator' })
      equal(response.status, 200)
      const { id } = (await response.json()) as { id: string }
      while ((await admin.audit.entry(id)).state === 'running') await nextTurn()
      equal(JSON.stringify((await admin.browse()).events), before, action)
    }
  })

  it('is refused as GET, as a form and as anything but JSON', async () => {
    const { client, admin } = await opened()
    await refused(client.send(`/api/${pause}?eventType=OrderPaid`), 405, 'WRONG_METHOD')
    await refused(client.send(`/api/${pause}`, { method: 'PUT', body: '{}' }), 405, 'WRONG_METHOD')
    await refused(client.send(`/api/${pause}`, { method: 'DELETE' }), 405, 'WRONG_METHOD')
    for (const type of [
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
      'text/json',
    ]) {
      await refused(
        client.post(pause, JSON.stringify(target), { 'content-type': type }),
        415,
        'WRONG_CONTENT_TYPE',
      )
    }
    for (const body of ['', '[]', 'null', '1', '"a"', '{', '\u0000']) {
      await refused(client.post(pause, body), 400, 'INVALID_BODY')
    }
    equal(await isUntouched(admin), true)
  })

  it('is refused with a body that is too large, whether it says so or not', async () => {
    const { client, admin } = await opened()
    const large = JSON.stringify({ eventType: 'x'.repeat(maxBodyBytes) })
    await refused(client.post(pause, large), 413, 'BODY_TOO_LARGE')
    await refused(
      client.post(pause, '{}', { 'content-length': String(maxBodyBytes + 1) }),
      413,
      'BODY_TOO_LARGE',
    )
    equal(await isUntouched(admin), true)
  })

  it('is refused for each role that is too low, on every route', async () => {
    const { client, admin } = await opened()
    const ranks = ['viewer', 'operator', 'admin']
    for (const { path, role } of apiRoutes.filter(({ method }) => method === 'POST')) {
      const actual = path.replace('{outbox}', 'orders').replace('{eventId}', 'e').replace('{id}', '1')
      for (const lower of ranks.slice(0, ranks.indexOf(role))) {
        await refused(client.post(actual, {}, { 'x-role': lower }), 403, 'ROLE_TOO_LOW')
      }
    }
    equal(await isUntouched(admin), true)
  })

  it('of an operator cannot purge by a plan, forged or old', async () => {
    const { client, admin } = await opened()
    const operator = { 'x-role': 'operator' }
    const purge = { action: 'purge', filter: { status: 'DEAD' }, all: true }
    await refused(client.post('outboxes/orders/plans', purge, operator), 403, 'ROLE_TOO_LOW')
    const plan = await client.act<object>('outboxes/orders/plans', purge)
    await refused(client.post('outboxes/orders/runs', { plan }, operator), 403, 'ROLE_TOO_LOW')
    await refused(
      client.post('outboxes/orders/runs', { plan: { ...plan, action: 'drop' } }),
      400,
      'INVALID_BODY',
    )
    await refused(
      client.post('outboxes/orders/runs', { plan: { ...plan, count: 1 } }),
      400,
      'OUTBOX_INVALID_PLAN',
    )
    const { id } = await client.act<{ id: string }>('outboxes/orders/runs', { plan })
    await refused(client.post(`outboxes/orders/runs/${id}/resume`, {}, operator), 403, 'ROLE_TOO_LOW')
    equal((await admin.overview()).counts.DEAD.count, 0)
  })

  it('is refused in read-only mode, even for an admin, while looking works', async () => {
    const { client, admin } = await opened({ readOnly: true })
    for (const { path } of apiRoutes.filter(({ method }) => method === 'POST')) {
      const actual = path.replace('{outbox}', 'orders').replace('{eventId}', 'e').replace('{id}', '1')
      await refused(client.post(actual, target), 403, 'READ_ONLY')
    }
    equal(await isUntouched(admin), true)
    equal((await client.get<{ isReadOnly: boolean }>('session')).isReadOnly, true)
    equal((await client.get<{ events: unknown[] }>('outboxes/orders/events')).events.length, 4)
  })

  it('is allowed from an address that the owner names, behind a proxy that changes the host', async () => {
    const origin = 'https://public.example'
    const { client } = await opened({ origins: [origin] })
    equal((await client.post(pause, target, { origin, 'sec-fetch-site': 'same-origin' })).status, 200)
    await refused(client.post(pause, target, { origin: `${origin}:8443` }), 403, 'CROSS_SITE')
  })
})

describe('a look', () => {
  const state = '/api/outboxes/orders/state'

  it('is refused to a page of another site, which could keep the database busy', async () => {
    const { client } = await opened()
    for (const site of ['cross-site', 'same-site']) {
      for (const path of [state, '/api/outboxes/orders/stream', '/api/outboxes/orders/events?text=a']) {
        const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
        await refused(client.send(path, { headers }), 403, 'CROSS_SITE')
        const frame = { ...headers, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }
        await refused(client.send(path, { headers: frame }), 403, 'CROSS_SITE')
      }
    }
  })

  it('is allowed to the page itself, to programs, and to a person who follows a link', async () => {
    const { client } = await opened()
    const headers: readonly Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    ]
    for (const each of headers) equal((await client.send(state, { headers: each })).status, 200)
  })
})

describe('nonsense', () => {
  it('in any call gets a refusal that says why, and never an error of ours', async () => {
    const errors: unknown[] = []
    const { client } = await opened({ onError: (error) => errors.push(error) })
    const nonsense = fc.oneof(
      fc.json(),
      fc.constantFrom(
        '{"__proto__":{"action":"purge"},"constructor":1}',
        `${'['.repeat(9_000)}${']'.repeat(9_000)}`,
      ),
      fc
        .dictionary(
          fc.constantFrom(
            'action',
            'filter',
            'plan',
            'all',
            'destination',
            'orderingKey',
            'eventType',
            'reason',
            'payload',
            'ratePerSecond',
            'olderThanMs',
            '__proto__',
          ),
          fc.oneof(
            fc.string(),
            fc.jsonValue(),
            fc.constantFrom('purge', 'replay', '\u0000', '\ud800', -1, 1e400, null),
          ),
        )
        .map((body) => JSON.stringify(body)),
    )
    const paths = apiRoutes
      .filter(({ path }) => !path.endsWith('stream'))
      .map(({ method, path }) => ({ method, path: path.replace('{outbox}', 'orders') }))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        nonsense,
        fc.string(),
        async ({ method, path }, body, text) => {
          const actual = path.replace(/\{\w+\}/, encodeURIComponent(text.toWellFormed()) || '%00')
          const name = new URLSearchParams([
            [text, body],
            ['limit', text],
            ['minutes', text],
            ['cursor', body],
          ])
          const response = await (method === 'GET'
            ? client.send(`/api/${actual}?${name.toString()}`)
            : client.post(actual, body))
          ok(response.status < 500, `${method} ${actual} ${body}: ${response.status}`)
        },
      ),
      { numRuns: 500 },
    )
    deepEqual(errors, [])
    equal(({} as { action?: unknown }).action, undefined)
  })
})

describe('a path', () => {
  it('leads to no file but those of the page', async () => {
    const { client } = await opened({ basePath: '/ops' })
    const paths = [
      '/assets/../../package.json',
      '/assets/..%2f..%2fpackage.json',
      '/assets/%2e%2e/%2e%2e/package.json',
      '/assets/..\\..\\package.json',
      '/assets//etc/passwd',
      '/assets/index.html/../../../package.json',
      '/../package.json',
      '/.env',
      '/orders/.git/config',
      '/package.json',
      '/assets/',
      '/assets/constructor',
      '/assets/icon.svg%00.js',
    ]
    for (const path of paths) {
      const response = await client.send(path)
      equal(response.status, 404, path)
      doesNotMatch(await response.text(), /"dependencies"|root:/)
    }
  })

  it('outside of the base path, or of no outbox, leads nowhere', async () => {
    const { client } = await opened({ basePath: '/ops' })
    const at = (url: string): Promise<Response> => client.handler(new Request(`${address}${url}`))
    await refused(at('/'), 404, 'NOT_FOUND')
    await refused(at('/opsx/'), 404, 'NOT_FOUND')
    await refused(at('/ops/api/outboxes/other/state'), 404, 'NO_OUTBOX')
    await refused(at('/ops/api/outboxes/constructor/state'), 404, 'NO_OUTBOX')
    await refused(at('/ops/api/outboxes/__proto__/state'), 404, 'NO_OUTBOX')
    await refused(at('/ops/api/outboxes/orders'), 404, 'NOT_FOUND')
    await refused(at('/ops/api/outboxes/%E0%A4%A/state'), 404, 'NOT_FOUND')
    await refused(at('/ops/api'), 404, 'NOT_FOUND')
    const redirect = await at('/ops?x=1')
    deepEqual([redirect.status, redirect.headers.get('location')], [308, '/ops/?x=1'])
  })

  it('of a page shows the page, with its base, and headers that let nothing else in', async () => {
    const { client } = await opened({ basePath: '/ops/' })
    const response = await client.send('/orders/events?status=DEAD')
    const html = await response.text()
    match(html, /<base href="\/ops\/" \/>/)
    doesNotMatch(html, /<script(?![^>]*\bsrc=)|\son\w+=|https?:/)
    const policy = response.headers.get('content-security-policy')!
    match(policy, /default-src 'none'/)
    match(policy, /script-src 'self';/)
    match(policy, /frame-ancestors 'none'/)
    doesNotMatch(policy, /unsafe|\*/)
    deepEqual(
      ['x-content-type-options', 'referrer-policy', 'cache-control'].map((name) =>
        response.headers.get(name),
      ),
      ['nosniff', 'no-referrer', 'no-store'],
    )
  })
})

describe('a query', () => {
  it('with an unknown, doubtful or altered part is refused, with its reason', async () => {
    const { client } = await opened()
    const at = (query: string): Promise<Response> => client.send(`/api/outboxes/orders/events?${query}`)
    await refused(at('sql=1'), 400, 'UNKNOWN_PARAMETER')
    await refused(at('__proto__=1'), 400, 'UNKNOWN_PARAMETER')
    await refused(at('eventType=a%00b'), 400, 'INVALID_PARAMETER')
    await refused(client.send('/api/outboxes/orders/events/a%00b'), 400, 'INVALID_PARAMETER')
    await refused(client.send('/api/outboxes/orders/keys?destination=%00'), 400, 'INVALID_PARAMETER')
    await refused(client.post(pause, { eventType: '\0' }), 400, 'INVALID_BODY')
    await refused(at('since=yesterday'), 400, 'INVALID_PARAMETER')
    await refused(at(`text=${'x'.repeat(2_001)}`), 400, 'INVALID_PARAMETER')
    await refused(at('status=GONE'), 400, 'OUTBOX_INVALID_OPTION')
    await refused(at('limit=0'), 400, 'OUTBOX_INVALID_OPTION')
    await refused(at('limit=1e9'), 400, 'OUTBOX_INVALID_OPTION')
    await refused(at('cursor=abc'), 400, 'OUTBOX_INVALID_CURSOR')
    await refused(at('order=random'), 400, 'OUTBOX_INVALID_OPTION')
  })
})

describe('an error of the database', () => {
  it('is answered and reported, and an error of another kind keeps its text', async () => {
    const heard: unknown[] = []
    const broken = { overview: () => Promise.reject(new Error('password=secret')), as: () => broken } as never
    const client = new DashboardClient({
      admins: { orders: broken },
      onError: (error) => {
        heard.push(error)
        throw new Error('the reporter is broken, too')
      },
    })
    const response = await client.send('/api/outboxes/orders/state')
    equal(response.status, 500)
    doesNotMatch(await response.text(), /secret/)
    ok(heard.length === 1)
  })
})
