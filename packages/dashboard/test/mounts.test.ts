import { deepEqual, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { dashboard, type DashboardHandler, nodeListener } from '../src/index.ts'
import { filledOutbox } from './filled-outbox.ts'

const basePath = '/ops/outbox'
const closing: (() => unknown)[] = []
after(() => Promise.all(closing.map((close) => close())))

/** Each way to mount the dashboard: returns the address of the server. */
const mounts: Readonly<Record<string, (handler: DashboardHandler) => Promise<string>>> = {
  "Node's http": (handler) => listen(createServer(nodeListener(handler))),

  Express: (handler) => {
    const app = express()
    app.use(basePath, nodeListener(handler))
    return listen(createServer(app))
  },

  'Express behind a parser of bodies': (handler) => {
    const app = express()
    app.use(express.json({ limit: '8mb' }))
    app.use(basePath, nodeListener(handler))
    return listen(createServer(app))
  },

  Fastify: async (handler) => {
    const app = fastify()
    const listener = nodeListener(handler)
    app.register((scope, _options, done) => {
      // The dashboard reads bodies itself.
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, parsed) => parsed(null))
      const serve = (request: { raw: never }, reply: { hijack(): void; raw: never }): void => {
        reply.hijack()
        listener(request.raw, reply.raw)
      }
      scope.all(basePath, serve as never)
      scope.all(`${basePath}/*`, serve as never)
      done()
    })
    closing.push(() => app.close())
    await app.listen({ port: 0, host: '127.0.0.1', listenTextResolver: () => '' })
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  },

  Hono: (handler) => {
    const app = new Hono()
    app.all(`${basePath}/*`, (context) => handler(context.req.raw))
    return listen(createServer(nodeListener(async (request) => app.fetch(request))))
  },
}

async function listen(server: Server): Promise<string> {
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the dashboard mounted', () => {
  for (const [name, mount] of Object.entries(mounts)) {
    it(`in ${name} shows its page, acts, streams, and refuses`, async () => {
      const { admin } = await filledOutbox({ dead: 1 })
      const handler = dashboard({
        admins: { orders: admin },
        basePath,
        authorize: ({ headers }) => (headers.has('x-stranger') ? undefined : { actor: 'ann', role: 'admin' }),
      })
      const origin = await mount(handler)
      const base = `${origin}${basePath}`

      const page = await fetch(`${base}/orders/events?status=DEAD`)
      const html = await page.text()
      match(html, /<base href="\/ops\/outbox\/" \/>/)
      const script = await fetch(`${base}/${/src="([^"]+)"/.exec(html)![1]}`)
      deepEqual([script.status, (await script.text()).length > 10_000], [200, true])
      equal((await fetch(base)).url, `${base}/`)

      const session = await fetch(`${base}/api/session`)
      const { csrfToken } = (await session.json()) as { csrfToken: string }
      const headers = {
        'content-type': 'application/json',
        origin,
        cookie: session.headers.get('set-cookie')!.split(';')[0]!,
        'x-sendoff-csrf': csrfToken,
      }
      const pause = (more: Record<string, string> = {}, body = '{"eventType":"A"}'): Promise<Response> =>
        fetch(`${base}/api/outboxes/orders/pause`, { method: 'POST', headers: { ...headers, ...more }, body })
      equal((await pause()).status, 200)
      deepEqual(await admin.paused(), [{ eventType: 'A' }])
      equal((await pause({ origin: 'https://evil.example' })).status, 403)
      equal((await pause({ 'x-stranger': 'yes' })).status, 401)
      equal((await pause({ 'content-type': 'text/plain' })).status, 415)

      const left = new AbortController()
      const stream = await fetch(`${base}/api/outboxes/orders/stream`, { signal: left.signal })
      equal(stream.headers.get('content-type'), 'text/event-stream')
      const reader = stream.body!.getReader()
      let text = ''
      while (!text.includes('event: state')) text += new TextDecoder().decode((await reader.read()).value)
      left.abort()
    })
  }
})
