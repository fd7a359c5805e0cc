/** Stands for Next: `node route-host.ts FILE` serves the exported `POST` of a route handler by HTTP. */
import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'

interface RouteModule {
  readonly POST: (request: Request) => Promise<Response>
}

const { POST } = (await import(pathToFileURL(process.argv[2]!).href)) as RouteModule
const server = serve({ fetch: POST, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`The route is at http://127.0.0.1:${port}`)
})
// As Next does: it ends when the last request has its response, without a word to the code of the routes.
process.once('SIGTERM', () => server.close(() => process.exit()))
