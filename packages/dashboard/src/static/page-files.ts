import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A file of the page. */
export interface PageFile {
  readonly content: Buffer
  readonly compressed: Buffer
  readonly type: string
  readonly tag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The folder of the built page, seen from `src` as well as from `dist`. */
const folder = new URL('../../dist/page/', import.meta.url)

let files: ReadonlyMap<string, PageFile> | undefined

/**
 * Returns the files of the page by name. They are read once, when they are first asked for. No other file can
 * ever be served: a name that is not in this list does not exist.
 */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  files ??= new Map(
    readdirSync(folder)
      .filter((name) => extname(name) in types)
      .map((name) => [name, pageFile(name)]),
  )
  return files
}

function pageFile(name: string): PageFile {
  const content = readFileSync(new URL(name, folder))
  const tag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  return { content, compressed: gzipSync(content), type: types[extname(name)]!, tag }
}
