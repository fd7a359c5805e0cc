import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BeforeApplicationShutdown } from '@nestjs/common'
import { dashboard, type DashboardHandler, nodeListener, type NodeListener } from '@sendoff/dashboard'
import type { OutboxDashboardSettings } from './outbox-dashboard-options.ts'

/** A request of Express, or of Fastify, which has that of Node inside. */
export type FrameworkRequest = IncomingMessage | { readonly raw: IncomingMessage; readonly body?: unknown }

/** A response of Express, or of Fastify, which has that of Node inside. */
export type FrameworkResponse = ServerResponse | { readonly raw: ServerResponse; hijack(): unknown }

/** The dashboard of an application. Its live pages end before the server closes: it would wait for them. */
export class ServedDashboard implements BeforeApplicationShutdown {
  readonly #handler: DashboardHandler
  readonly #listener: NodeListener
  readonly #requests = new AsyncLocalStorage<FrameworkRequest>()

  constructor({
    authorize,
    ...settings
  }: OutboxDashboardSettings & Required<Pick<OutboxDashboardSettings, 'admins'>>) {
    // The dashboard knows web requests only. The one of the framework has what guards have found out.
    this.#handler = dashboard({ ...settings, authorize: () => authorize(this.#requests.getStore()) })
    this.#listener = nodeListener(this.#handler)
  }

  serve(request: FrameworkRequest, response: FrameworkResponse): void {
    const [incoming, outgoing] = [ofNode(request), 'raw' in response ? response.raw : response]
    if ('hijack' in response) response.hijack()
    this.#requests.run(request, () => this.#listener(incoming, outgoing))
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#handler.close()
  }
}

// Fastify has read the body, and keeps it beside the request of Node.
function ofNode(request: FrameworkRequest): IncomingMessage {
  if (!('raw' in request)) return request
  return Object.assign(request.raw, { body: request.body })
}
