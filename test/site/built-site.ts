import { execFileSync } from 'node:child_process'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { outsideEnvironment } from '../package/npm.ts'
import { projectRoot } from '../workspace.ts'

/** Builds the site into a folder, as `npm run docs` does. */
export function buildSite(folder: string): void {
  execFileSync(process.execPath, [join(projectRoot, 'site/build.ts'), '--out', folder], {
    cwd: projectRoot,
    env: outsideEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

export interface ServedSite {
  /** The address of the home page, with a slash at its end. */
  readonly url: string
  readonly close: () => void
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** Serves the files of a built site on the loopback address, as any host of static files does. */
export async function serveSite(folder: string): Promise<ServedSite> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url!, 'http://site').pathname))
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path)
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
