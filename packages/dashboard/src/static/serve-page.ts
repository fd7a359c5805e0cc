import { Refusal } from '../guard/refusal.ts'
import { pageFiles, type PageFile } from './page-files.ts'

/**
 * Serves a file of the page. Every other path shows the page itself, which finds out by its address what to
 * show: a link to an event works in any browser.
 */
export function servePage(request: Request, path: string, basePath: string): Response {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal(405, 'WRONG_METHOD', 'The page takes GET only.')
  }
  if (path.startsWith('assets/')) {
    const file = pageFiles().get(path.slice('assets/'.length))
    if (file === undefined) throw new Refusal(404, 'NOT_FOUND', 'There is no such file.')
    return answer(request, file, { 'cache-control': 'private, max-age=31536000, immutable' })
  }
  // A file that an attacker looks for, such as /.env, is not a page.
  if (/(?:^|\/)\.|%2f|%5c|\\|\.\w+$/i.test(path))
    throw new Refusal(404, 'NOT_FOUND', 'There is no such page.')

  const template = pageFiles().get('index.html')
  if (template === undefined) throw new Error('The page was not built: dist/page/index.html is missing.')
  const html = template.content.toString().replace('<base href="/" />', `<base href="${basePath}/" />`)
  return new Response(request.method === 'HEAD' ? null : html, { headers: { 'content-type': template.type } })
}

function answer(request: Request, file: PageFile, headers: Record<string, string>): Response {
  const all = { ...headers, 'content-type': file.type, etag: file.tag, vary: 'accept-encoding' }
  if (request.headers.get('if-none-match') === file.tag)
    return new Response(null, { status: 304, headers: all })
  const isCompressed = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  const body = isCompressed ? file.compressed : file.content
  return new Response(request.method === 'HEAD' ? null : new Uint8Array(body), {
    headers: { ...all, ...(isCompressed && { 'content-encoding': 'gzip' }) },
  })
}
