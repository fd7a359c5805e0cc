import { useEffect, useState } from 'preact/hooks'

/** Where the page is: an outbox, a name of a page, and what the query says. */
export interface Place {
  readonly outbox: string
  readonly page: string
  readonly query: URLSearchParams
}

const base = new URL('.', document.baseURI).pathname
const listeners = new Set<() => void>()
const notify = (): void => listeners.forEach((listener) => listener())

addEventListener('popstate', notify)
// Links are ordinary links, so they can be copied, and opened in a new tab.
addEventListener('click', (event) => {
  const link = (event.target as Element | null)?.closest?.('a[href]')
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.origin !== location.origin) return
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (!link.pathname.startsWith(base) || link.hash !== '') return
  event.preventDefault()
  go(link.pathname.slice(base.length) + link.search)
})

/** Returns the address of a page, relative to the base of the document. */
export function hrefOf(
  outbox: string,
  page: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const known = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const search = new URLSearchParams(known).toString()
  return `${encodeURIComponent(outbox)}/${page}${search === '' ? '' : `?${search}`}`
}

/** Goes to a page, as if a link to it was clicked. */
export function go(href: string, options: { readonly replace?: boolean } = {}): void {
  const url = new URL(href, document.baseURI)
  if (options.replace === true) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  if (options.replace !== true) scrollTo(0, 0)
  notify()
}

/** Returns where the page is, and renders again when that changes. */
export function usePlace(): Place {
  const [, render] = useState(0)
  useEffect(() => {
    const listener = (): void => render((count) => count + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  const [outbox = '', page = ''] = location.pathname.slice(base.length).split('/')
  return { outbox: decoded(outbox), page, query: new URLSearchParams(location.search) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
