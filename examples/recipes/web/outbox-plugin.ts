import type { DatabaseSync } from 'node:sqlite'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import plugin from 'fastify-plugin'
import type { Outbox } from 'sendoff'

declare module 'fastify' {
  interface FastifyInstance {
    readonly outbox: Outbox<DatabaseSync>
    /** Runs the handler in a transaction. Fastify sends the reply after the commit. */
    inTransaction(handler: TransactionHandler): RouteHandlerMethod
  }
}

type TransactionHandler = (tx: DatabaseSync, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Starts the outbox with the application, closes it with the application, and adds probes. */
export const outboxPlugin = plugin<{ readonly outbox: Outbox<DatabaseSync> }>(
  async (app, { outbox }) => {
    app.decorate('outbox', outbox)
    app.decorate(
      'inTransaction',
      (handler: TransactionHandler) => (request: FastifyRequest, reply: FastifyReply) =>
        outbox.transaction((tx) => handler(tx, request, reply)),
    )

    app.get('/livez', async (_request, reply) => {
      const { isLive, problems } = await outbox.health()
      return reply.code(isLive ? 200 : 503).send({ problems })
    })
    app.get('/readyz', async (_request, reply) => {
      const { isReady, problems } = await outbox.health()
      return reply.code(isReady ? 200 : 503).send({ problems })
    })

    app.addHook('onReady', async () => void (await outbox.start()))
    // A connection with a request is idle only after its reply. Fastify would keep it for 72 s.
    app.addHook('preClose', async () => {
      setInterval(() => app.server.closeIdleConnections(), 100).unref()
    })
    // Fastify calls this when the last request has its reply.
    app.addHook('onClose', () => outbox.close())
  },
  { name: 'outbox', fastify: '5.x' },
)
