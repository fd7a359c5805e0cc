import { dashboard, type DashboardHandler, type DashboardOptions, type Role } from '../src/index.ts'

/** The address that tests give the dashboard. */
export const address = 'http://ops.example.com'

/** Options of a client. */
export type ClientOptions = Omit<DashboardOptions, 'authorize'> & {
  readonly authorize?: DashboardOptions['authorize']
}

/** Calls a handler as the page in a browser does. The header `x-role` names the role of the visitor. */
export class DashboardClient {
  readonly handler: DashboardHandler
  readonly #base: string
  #cookie = ''
  #token = ''

  constructor(options: ClientOptions) {
    this.#base = `${address}${(options.basePath ?? '').replace(/\/$/, '')}`
    this.handler = dashboard({
      authorize: ({ headers }) => ({ actor: 'ann', role: (headers.get('x-role') ?? 'admin') as Role }),
      ...options,
    })
  }

  /** Sends any request. */
  send(path: string, init: RequestInit = {}): Promise<Response> {
    return this.handler(new Request(`${this.#base}${path}`, init))
  }

  /** Reads something of the API. */
  async get<Answer>(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await this.send(`/api/${path}`, { headers })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }

  /** Acts, with everything that an action needs. `headers` replaces some of it; null leaves it out. */
  async post(path: string, body: unknown, headers: Record<string, string | null> = {}): Promise<Response> {
    if (this.#token === '') await this.logIn()
    const all = {
      'content-type': 'application/json',
      origin: address,
      'sec-fetch-site': 'same-origin',
      cookie: this.#cookie,
      'x-sendoff-csrf': this.#token,
      ...headers,
    }
    const known = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null)
    return this.send(`/api/${path}`, {
      method: 'POST',
      headers: Object.fromEntries(known),
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  }

  /** Acts, and returns the answer. */
  async act<Answer = unknown>(
    path: string,
    body: unknown,
    headers: Record<string, string | null> = {},
  ): Promise<Answer> {
    const response = await this.post(path, body, headers)
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }

  async logIn(): Promise<void> {
    const response = await this.send('/api/session')
    this.#cookie = response.headers.get('set-cookie')!.split(';')[0]!
    this.#token = ((await response.json()) as { csrfToken: string }).csrfToken
  }
}
