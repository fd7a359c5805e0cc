import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError } from '../command-error.ts'
import type { MetricsPage } from './metrics-page.ts'
import type { RelayWorker } from './relay-worker.ts'

/** The server of a relay's health and metrics. */
export interface RelayServer {
  readonly address: string
  close(): Promise<void>
}

/** Serves `/healthz`, `/readyz` and `/metrics`. `isStopping` says whether the relay is about to end. */
export async function serveRelay(
  { worker, metrics, isStopping }: { worker: RelayWorker; metrics: MetricsPage; isStopping: () => boolean },
  { host, port }: { readonly host: string; readonly port: number },
): Promise<RelayServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    respond(path, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(error instanceof Error ? error.message : String(error))
    })
  })

  const respond = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/metrics') {
      response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.text())
    } else if (path === '/healthz' || path === '/readyz') {
      const { isLive, isReady, problems, process, table } = await worker.health()
      const stopping = isStopping() ? ['The relay is stopping.'] : []
      const isFine = path === '/healthz' ? isLive || isStopping() : isReady && !isStopping()
      response
        .writeHead(isFine ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        .end(JSON.stringify({ isLive, isReady, problems: [...problems, ...stopping], process, table }))
    } else {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('See /healthz, /readyz and /metrics.\n')
    }
  }

  await listening(server, host, port)
  const { port: bound } = server.address() as AddressInfo
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => {})
    },
  }
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(
      `Cannot serve health and metrics on ${host}:${port} (${code}). Choose another --port.`,
    )
  }
}
