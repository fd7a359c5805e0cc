import { OutboxError } from 'sendoff/store'

/** The address of a store. */
export type StoreUrl =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres' | 'mysql' | 'redis'; readonly url: URL }

const kinds: Readonly<Record<string, Exclude<StoreUrl['kind'], 'sqlite'>>> = {
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'mysql:': 'mysql',
  'mariadb:': 'mysql',
  'redis:': 'redis',
  'rediss:': 'redis',
}

/** Reads the address of a store. No error quotes it, because it may hold a password. */
export function readStoreUrl(address: string): StoreUrl {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(address) ?? []
  if (scheme?.toLowerCase() === 'sqlite') return { kind: 'sqlite', file: sqliteFile(address) }

  const kind = scheme === undefined ? undefined : kinds[`${scheme.toLowerCase()}:`]
  if (kind === undefined) {
    const what = scheme === undefined ? 'has no scheme' : `begins with "${scheme}:"`
    throw invalidUrl(`The address of the store ${what}. Use one of ${schemes}.`)
  }
  if (!URL.canParse(address)) {
    throw invalidUrl(
      `The address of the store begins with "${scheme}:", but cannot be read. ` +
        'Percent-encode special characters in user and password, such as %40 for @ and %2F for /.',
    )
  }
  return { kind, url: new URL(address) }
}

/** Returns the address of a store without its password, for texts. */
export function shownUrl(target: StoreUrl): string {
  if (target.kind === 'sqlite') return `sqlite:${target.file}`
  const { protocol, username, host, pathname } = target.url
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}

const schemes = 'sqlite:FILE, postgres://, mysql://, mariadb://, redis:// and rediss://'

// `sqlite:app.db`, `sqlite:./app.db`, `sqlite:/var/app.db` and `sqlite:///var/app.db`.
function sqliteFile(address: string): string {
  const file = address.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
  if (file === '' || file.startsWith('//')) {
    throw invalidUrl('The address of the store names no file. Use sqlite:app.db, or sqlite:///var/app.db.')
  }
  return file
}

function invalidUrl(message: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', message)
}
