import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { outsideEnvironment } from '../package/npm.ts'
import { type TemporaryFolder, temporaryFolder } from '../services/machine/temporary-folder.ts'
import { projectRoot } from '../workspace.ts'

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** The site, built as `npm run docs` builds it, and served on a port of its own. */
export class BuiltSite {
  readonly #folder: TemporaryFolder
  readonly #server = createServer((request, response) => {
    const path = decodeURI(new URL(request.url!, 'http://localhost').pathname)
    const file = this.fileOf(path)
    if (file === undefined) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-type': contentTypes[extname(file)] ?? 'application/octet-stream' })
    response.end(readFileSync(file))
  })

  private constructor(folder: TemporaryFolder) {
    this.#folder = folder
  }

  /** Builds the project's site, or serves the one in the folder that `SITE` names. */
  static async build(): Promise<BuiltSite> {
    const folder = temporaryFolder('site')
    const given = process.env['SITE']
    if (given === undefined) {
      await promisify(execFile)(process.execPath, ['site/build.ts', '--out', folder.path], {
        cwd: projectRoot,
        env: outsideEnvironment(),
        maxBuffer: 64 * 1024 * 1024,
      })
    }
    const site = new BuiltSite(given === undefined ? folder : { path: given, remove: () => folder.remove() })
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve))
    return site
  }

  get folder(): string {
    return this.#folder.path
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** Returns the pages, as `orms/drizzle.html`. */
  get pages(): readonly string[] {
    return globSync('**/*.html', { cwd: this.folder }).toSorted()
  }

  /** Returns the file behind a path of the site, with or without `.html`. */
  fileOf(path: string): string | undefined {
    const plain = join(this.folder, path)
    const candidates = [plain, `${plain}.html`, join(plain, 'index.html')]
    return candidates.find((each) => existsSync(each) && statSync(each).isFile())
  }

  /** Returns every link of a page that leads to no page or no heading of the site. */
  deadLinksOf(page: string): readonly string[] {
    const html = readFileSync(join(this.folder, page), 'utf8')
    return [...html.matchAll(/<a\b[^>]*?\bhref="(?!https?:|mailto:)([^"]*)"/g)]
      .map(([, href = '']) => decodeURI(href.replaceAll('&amp;', '&')))
      .filter((href) => {
        const [path = '', anchor = ''] = href.split('#')
        const target =
          path === '' ? join(this.folder, page) : this.fileOf(posix.resolve('/', posix.dirname(page), path))
        if (target === undefined) return true
        return anchor !== '' && !readFileSync(target, 'utf8').includes(`id="${anchor}"`)
      })
      .map((href) => `${page}: ${href}`)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    this.#folder.remove()
  }
}
