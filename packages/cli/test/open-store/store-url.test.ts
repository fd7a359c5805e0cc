import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readStoreUrl, shownUrl } from '../../src/open-store/store-url.ts'

describe('the address of a store', () => {
  it('of SQLite is a path', () => {
    const files = [
      'sqlite:app.db',
      'sqlite:./app.db',
      'sqlite:/var/app.db',
      'sqlite:///var/app.db',
      'SQLite:app.db',
    ]
    deepEqual(
      files.map((each) => readStoreUrl(each)),
      ['app.db', './app.db', '/var/app.db', '/var/app.db', 'app.db'].map((file) => ({
        kind: 'sqlite',
        file,
      })),
    )
  })

  it('of a server is told by its scheme', () => {
    const schemes = ['postgres', 'postgresql', 'mysql', 'mariadb', 'redis', 'rediss']
    deepEqual(
      schemes.map((scheme) => readStoreUrl(`${scheme}://db/shop`).kind),
      ['postgres', 'postgres', 'mysql', 'mysql', 'redis', 'redis'],
    )
  })

  it('is shown without its password', () => {
    equal(
      shownUrl(readStoreUrl('postgres://ann:geheim@db:5433/shop?password=geheim')),
      'postgres://ann@db:5433/shop',
    )
  })

  it('that cannot be read is not quoted', () => {
    for (const address of [
      '',
      'sqlite:',
      'sqlite://host/app.db',
      'ftp://ann:geheim@db',
      'postgres://ann:geheim@[db',
      'geheim',
    ]) {
      throws(
        () => readStoreUrl(address),
        (error: Error & { code?: string }) =>
          error.code === 'OUTBOX_INVALID_OPTION' && !error.message.includes('geheim'),
      )
    }
  })
})
