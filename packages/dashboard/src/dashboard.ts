import { actingRoutes } from './api/acting-routes.ts'
import type { ErrorAnswer, SessionAnswer } from './api/answers.ts'
import { isShortText, shortText } from './api/event-query.ts'
import type { Redaction } from './api/event-view.ts'
import { failureAnswer } from './api/failure-answer.ts'
import { lookingRoutes } from './api/looking-routes.ts'
import { openApi } from './api/open-api.ts'
import { readPaths } from './api/redact-json.ts'
import { paramsOf, type Route } from './api/route.ts'
import { checkDashboardOptions, type CheckedOptions, type DashboardOptions } from './dashboard-options.ts'
import { readJsonBody } from './guard/json-body.ts'
import { Refusal } from './guard/refusal.ts'
import { checkLook, checkSameOrigin, csrfTokenOf, newCsrfToken } from './guard/same-origin.ts'
import { isAllowed, isVisitor, type Visitor } from './guard/visitor.ts'
import { LiveStreams } from './live/live-streams.ts'
import { WatchedOutbox } from './live/watched-outbox.ts'
import { servePage } from './static/serve-page.ts'

/** Serves the dashboard: the page and its API. Never rejects. */
export interface DashboardHandler {
  (request: Request): Promise<Response>
  /**
   * Ends all live pages, and stops the plans that this process runs, after the batch under way. Call it
   * before a server closes: the server would wait for the pages. It closes no store.
   */
  close(): Promise<void>
}

/** How many calls of one outbox run at the same time, and how many may wait. */
const limits = { maxAtOnce: 4, maxWaiting: 200 }

const safeHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/**
 * Returns the dashboard as one function from a request to a response, for any server. It asks `authorize`
 * about every request. It writes no SQL of its own, and an error never leaves it.
 */
export function dashboard(options: DashboardOptions): DashboardHandler {
  const site = new Dashboard(checkDashboardOptions(options))
  const handle = (request: Request): Promise<Response> => site.handle(request)
  return Object.assign(handle, { close: () => site.close() })
}

/** Every call of the API. `session`, `openapi.json` and `stream` have no route of their own. */
export const apiRoutes: readonly Pick<Route, 'method' | 'path' | 'role'>[] = [
  { method: 'GET', path: 'session', role: 'viewer' },
  { method: 'GET', path: 'openapi.json', role: 'viewer' },
  { method: 'GET', path: 'outboxes/{outbox}/stream', role: 'viewer' },
  ...lookingRoutes,
  ...actingRoutes,
]

class Dashboard {
  readonly #options: CheckedOptions
  readonly #outboxes: ReadonlyMap<string, WatchedOutbox>
  readonly #streams: LiveStreams
  readonly #redaction: Redaction | undefined

  constructor(options: CheckedOptions) {
    const { admins, redact, refreshMs, timeLimitMs, maxStreams } = options
    this.#options = options
    this.#streams = new LiveStreams({
      read: (name) => this.#outboxes.get(name)!.state(),
      describe: (error) => {
        this.#report(error)
        const { code, message } = failureAnswer(error)
        return { code, message }
      },
      intervalMs: refreshMs,
      maxStreams,
    })
    this.#outboxes = new Map(
      Object.entries(admins).map(([name, admin]) => [
        name,
        new WatchedOutbox(
          name,
          admin,
          { ...limits, timeLimitMs, keepMs: Math.min(1_000, refreshMs / 2) },
          () => this.#streams.refresh(name),
        ),
      ]),
    )
    this.#redaction =
      redact.length === 0
        ? undefined
        : { payload: readPaths(redact, 'payload'), headers: readPaths(redact, 'headers') }
  }

  async handle(request: Request): Promise<Response> {
    let response: Response
    try {
      response = await this.#answer(request)
    } catch (error) {
      response = this.#failure(error)
    }
    for (const [name, value] of Object.entries(safeHeaders)) {
      if (!response.headers.has(name)) response.headers.set(name, value)
    }
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
    return response
  }

  async close(): Promise<void> {
    this.#streams.close()
    await Promise.all([...this.#outboxes.values()].map(({ runs }) => runs.close()))
  }

  async #answer(request: Request): Promise<Response> {
    const visitor = await this.#visitor(request)
    if (visitor instanceof Response) return new Response(visitor.body, visitor)

    const { basePath } = this.#options
    const { pathname, search } = new URL(request.url)
    if (pathname === basePath && basePath !== '') {
      return new Response(null, { status: 308, headers: { location: `${basePath}/${search}` } })
    }
    if (!pathname.startsWith(`${basePath}/`)) throw notFound()
    const path = pathname.slice(basePath.length + 1)
    return path === 'api' || path.startsWith('api/')
      ? this.#api(request, visitor, path.slice(4))
      : servePage(request, path, basePath)
  }

  async #visitor(request: Request): Promise<Visitor | Response> {
    let found: unknown
    try {
      found = await this.#options.authorize(request)
    } catch (error) {
      this.#report(error)
    }
    if (found instanceof Response || isVisitor(found)) return found
    throw new Refusal(401, 'UNAUTHORIZED', 'Log in first.')
  }

  async #api(request: Request, visitor: Visitor, path: string): Promise<Response> {
    checkLook(request)
    if (path === 'session' && request.method === 'GET') return this.#session(request, visitor)
    if (path === 'openapi.json' && request.method === 'GET') {
      return new Response(openApi(), { headers: { 'content-type': 'application/json' } })
    }

    const fitting = [...streamRoute, ...lookingRoutes, ...actingRoutes].flatMap((route) => {
      const params = paramsOf(route, path)
      return params === undefined ? [] : [{ route, params }]
    })
    if (fitting.length === 0) throw notFound()
    const found = fitting.find(({ route }) => route.method === request.method)
    if (found === undefined) throw wrongMethod(fitting.map(({ route }) => route.method))

    const { route, params } = found
    const outbox = this.#outboxes.get(params['outbox']!)
    if (outbox === undefined) throw new Refusal(404, 'NO_OUTBOX', 'There is no outbox of this name here.')
    if (route.method === 'POST') this.#checkAction(request, visitor, route)
    if (route === streamRoute[0]) return this.#stream(request, outbox)

    const { searchParams } = new URL(request.url)
    for (const text of [...Object.values(params), ...searchParams.values()]) {
      if (!isShortText(text)) throw new Refusal(400, 'INVALID_PARAMETER', `The address needs ${shortText}.`)
    }
    const result = await route.handle({
      request,
      visitor,
      redaction: isAllowed(visitor.role, 'admin') ? undefined : this.#redaction,
      traceUrl: this.#options.traceUrl,
      params,
      query: searchParams,
      body: route.method === 'POST' ? await readJsonBody(request) : {},
      outbox,
      admin: outbox.admin.as(visitor.actor),
    })
    if (route.method === 'POST') this.#streams.refresh(outbox.name)
    return result instanceof Response ? result : Response.json(result)
  }

  #checkAction(request: Request, { role }: Visitor, route: Route): void {
    checkSameOrigin(request, this.#options.origins)
    if (this.#options.readOnly) {
      throw new Refusal(
        403,
        'READ_ONLY',
        'This dashboard only shows. It was made with the option "readOnly".',
      )
    }
    if (!isAllowed(role, route.role)) {
      throw new Refusal(403, 'ROLE_TOO_LOW', `This needs the role ${route.role}, and yours is ${role}.`)
    }
  }

  #session(request: Request, { actor, role }: Visitor): Response {
    const { basePath, readOnly } = this.#options
    const known = csrfTokenOf(request)
    const made = known === undefined ? newCsrfToken(`${basePath}/`, isSecure(request)) : undefined
    const session: SessionAnswer = {
      actor,
      role,
      isReadOnly: readOnly,
      canSearchText: this.#redaction === undefined || isAllowed(role, 'admin'),
      outboxes: [...this.#outboxes.keys()],
      csrfToken: known ?? made!.token,
    }
    return Response.json(session, made && { headers: { 'set-cookie': made.cookie } })
  }

  #stream(request: Request, outbox: WatchedOutbox): Response {
    // A proxy or a middleware that compresses would keep messages back.
    const headers = { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }
    return new Response(this.#streams.open(outbox.name, request.signal), {
      headers: { ...headers, 'content-type': 'text/event-stream' },
    })
  }

  #failure(error: unknown): Response {
    const { status, code, message, isOurs } = failureAnswer(error)
    if (isOurs) this.#report(error)
    const headers = status === 405 ? { allow: 'GET, POST' } : undefined
    return Response.json({ error: { code, message } } satisfies ErrorAnswer, {
      status,
      ...(headers && { headers }),
    })
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error)
    } catch {
      // An error in the report of an error has nowhere to go.
    }
  }
}

const streamRoute: readonly Route[] = [
  {
    method: 'GET',
    path: 'outboxes/{outbox}/stream',
    role: 'viewer',
    handle: () => Promise.reject(new Error('A stream is opened, not handled.')),
  },
]

function isSecure(request: Request): boolean {
  return new URL(request.url).protocol === 'https:' || request.headers.get('x-forwarded-proto') === 'https'
}

function notFound(): Refusal {
  return new Refusal(404, 'NOT_FOUND', 'There is nothing at this address.')
}

function wrongMethod(methods: readonly string[]): Refusal {
  return new Refusal(405, 'WRONG_METHOD', `This address takes ${[...new Set(methods)].join(' and ')} only.`)
}
