/**
 * Stands for a platform of functions: `node function-host.ts FILE` turns each HTTP request into a call of the
 * exported `handler`. The test freezes the process between calls, as platforms do.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

interface FunctionModule {
  readonly handler: (request: {
    readonly body: string
  }) => Promise<{ readonly statusCode: number; readonly body: string }>
}

const { handler } = (await import(pathToFileURL(process.argv[2]!).href)) as FunctionModule
const server = createServer((request, response) => {
  void text(request)
    .then((body) => handler({ body }))
    .then(({ statusCode, body }) => response.writeHead(statusCode, { connection: 'close' }).end(body))
})
server.listen(0, '127.0.0.1', () => {
  console.log(`The function is at http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => server.close())
