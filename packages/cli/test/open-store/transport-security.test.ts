import { deepEqual, equal, throws } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createClient } from 'redis'
import { mysqlPoolOptions } from '../../src/open-store/mysql-client.ts'
import { asLibpq } from '../../src/open-store/postgres-client.ts'
import { newFolder } from '../tested-outbox.ts'

/** What pg makes of the TLS in an address: whether it encrypts, and whether it checks the certificate. */
function ofPg(address: string): unknown {
  const { ssl } = new pg.Client({ connectionString: asLibpq(new URL(address)).href }) as unknown as {
    ssl: boolean | { rejectUnauthorized?: boolean }
  }
  return typeof ssl === 'boolean' ? ssl : (ssl.rejectUnauthorized ?? true)
}

const drivers = ['mysql2/promise', 'mariadb'] as const

/** What a driver of MySQL gets, and whether its address still has something about TLS. */
function ofMysql(driver: (typeof drivers)[number], parameters: string): object {
  const address = new URL(`mysql://ann:secret@db:3306/shop?charset=utf8mb4${parameters}`)
  const options = mysqlPoolOptions(driver, address, 3) as { ssl?: Record<string, unknown>; uri?: string }
  const { checkServerIdentity, ...ssl } = options.ssl ?? {}
  equal(/ssl/.test(options.uri ?? ''), false)
  return options.ssl === undefined ? { ssl: false } : { ...ssl, isAnyName: checkServerIdentity !== undefined }
}

describe('the TLS of an address', () => {
  it('of PostgreSQL is that of psql', () => {
    equal(ofPg('postgres://db/shop'), false)
    equal(ofPg('postgres://db/shop?sslmode=disable'), false)
    // `false`: it encrypts, and takes any certificate.
    deepEqual(
      new pg.Client({ connectionString: asLibpq(new URL('postgres://db/shop?sslmode=require')).href }).ssl,
      {
        rejectUnauthorized: false,
      },
    )
    equal(ofPg('postgres://db/shop?sslmode=verify-full'), true)
  })

  it('of MySQL is the same for both drivers', (test) => {
    const file = join(newFolder(test), 'ca.pem')
    writeFileSync(file, 'CERTIFICATE')
    for (const driver of drivers) {
      const isAnyName = false
      deepEqual(ofMysql(driver, ''), { ssl: false })
      deepEqual(ofMysql(driver, '&ssl-mode=DISABLED'), { ssl: false })
      deepEqual(ofMysql(driver, '&ssl-mode=REQUIRED'), { rejectUnauthorized: false, isAnyName })
      deepEqual(ofMysql(driver, '&ssl-mode=verify_ca'), { rejectUnauthorized: true, isAnyName: true })
      const verifyIdentity = true
      deepEqual(ofMysql(driver, '&ssl=true'), { rejectUnauthorized: true, verifyIdentity, isAnyName })
      deepEqual(ofMysql(driver, `&ssl-ca=${file}`), {
        rejectUnauthorized: true,
        verifyIdentity,
        ca: 'CERTIFICATE',
        isAnyName,
      })
      // A setting that it does not know must not turn encryption off.
      for (const wrong of ['&ssl-mode=PREFERRED', '&ssl={"rejectUnauthorized":true}', '&ssl=on']) {
        throws(() => ofMysql(driver, wrong), { code: 'OUTBOX_INVALID_OPTION' }, wrong)
      }
    }
  })

  it('of Redis is in its scheme', () => {
    const ioredis = (url: string) => new Redis(url, { lazyConnect: true }).options.tls !== undefined
    const redis = (url: string) => (createClient({ url }).options.socket as { tls?: boolean }).tls
    deepEqual([ioredis('redis://db:6379'), ioredis('rediss://db:6379')], [false, true])
    deepEqual([redis('redis://db:6379'), redis('rediss://db:6379')], [false, true])
  })
})
